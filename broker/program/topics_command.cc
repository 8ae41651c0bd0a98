// `hourglass topics` and `hourglass groups`: what a running server has.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>

#include "broker/program/admin_pages.h"
#include "broker/program/client_flags.h"
#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kTopicsFooter[] =
    R"(KINDS is what a topic takes ("-": it has pending messages only, or clients
are refused since nobody made it); BY is what made it: a flag of the server, an
operator (admin), or its first use.
READY is what is kept of messages that became ready, read or not; NEXT is the
index of the next one; LAG is of the group that is furthest behind; DUE 10m is
what becomes ready in ten minutes ("+": at least).

Examples:
  hourglass topics
  hourglass topics --json | jq -r 'select(.lag > 1000) | .topic'
  hourglass topics --create bills --kinds NORMAL+DELAY
  hourglass topics --delete bills

--create changes the kinds of a topic that is there. --delete makes the server
forget it, and is refused while messages of it are pending or not read; it
removes none, nor does --force.

Exit codes: 0 shown, or done; 2 could not run, or was refused.)";

constexpr char kGroupsFooter[] =
    R"(LAG is what is ready and not acknowledged; IN FLIGHT of it is with a consumer,
RETRY waits to be delivered again. The largest lag comes first.

Examples:
  hourglass groups
  hourglass groups --topic orders --json

Exit codes: 0 shown; 2 could not run.)";

constexpr size_t kNameWidth = 48;
constexpr char kDuePath[] = "/v1/forecast?by_topic=10m";

// As one part of a URL's path, or a value of its query.
std::string Escaped(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '_') {
      out.push_back(c);
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

struct TopicFacts {
  TopicRow row;
  uint64_t groups = 0, lag = 0, due_10m = 0;
};

class TopicsCommand final : public Command {
 public:
  std::string_view name() const override { return "topics"; }

  void Declare(CLI::App* app) override {
    app->description("Lists, makes and forgets topics of a running server");
    app->footer(kTopicsFooter);
    server_.Declare(app);
    app->add_flag("--json", json_, "print JSON lines");
    auto* create = app->add_option("--create", create_,
                                   "make this topic, or change its kinds");
    create->type_name("TOPIC");
    app->add_option("--kinds", kinds_, "what it takes; without it all kinds")
        ->type_name("KIND+KIND")
        ->needs(create);
    auto* forget =
        app->add_option("--delete", delete_, "make the server forget it");
    forget->type_name("TOPIC")->excludes(create);
    app->add_flag("--force", force_, "also while messages of it wait")
        ->needs(forget);
  }

  int Run(const Console& console) override {
    const absl::Status status =
        create_.empty() && delete_.empty() ? List(console) : Change(console);
    return status.ok() ? kExitOk : Fail(console, "", status);
  }

 private:
  absl::Status Change(const Console& console) {
    ASSIGN_OR_RETURN(const auto admin, server_.Connect(console));
    const std::string path =
        Concat("/v1/topics/", Escaped(Concat(create_, delete_)));
    const std::string kinds =
        kinds_.empty() ? "" : Concat("?kinds=", Escaped(kinds_));
    ASSIGN_OR_RETURN(const std::string answer,
                     delete_.empty() ? admin->Put(Concat(path, kinds))
                                     : admin->Delete(Concat(
                                           path, force_ ? "?force=true" : "")));
    if (json_) return console.out->Write(answer);
    ASSIGN_OR_RETURN(const TopicAnswer said, ParseTopicAnswer(answer));
    return console.out->Write(
        Concat(said.topic, ": ", said.answer,
               said.kinds.empty() ? "" : Concat(", takes ", said.kinds), "\n"));
  }

  absl::Status List(const Console& console) {
    ASSIGN_OR_RETURN(const auto admin, server_.Connect(console));
    ASSIGN_OR_RETURN(const std::string topics, admin->Get("/v1/topics"));
    ASSIGN_OR_RETURN(const std::string groups, admin->Get("/v1/groups"));
    ASSIGN_OR_RETURN(const std::string forecast, admin->Get(kDuePath));
    ASSIGN_OR_RETURN(const auto topic_rows, ParseTopics(topics));
    ASSIGN_OR_RETURN(const auto group_rows, ParseGroups(groups));
    ASSIGN_OR_RETURN(const DueByTopic due, ParseDueByTopic(forecast));
    std::map<std::string, TopicFacts> facts;
    for (const TopicRow& row : topic_rows) facts[row.topic].row = row;
    for (const GroupRow& row : group_rows) {
      TopicFacts& topic = facts[row.topic];
      ++topic.groups;
      topic.lag = std::max(topic.lag, row.lag);
    }
    for (const auto& [topic, count] : due.messages) {
      facts[topic].due_10m = count;
    }
    return console.out->Write(json_ ? Json(facts) : Text(facts, due.complete));
  }

  static std::string Text(const std::map<std::string, TopicFacts>& facts,
                          bool complete) {
    Table table({{"TOPIC"},
                 {"KINDS"},
                 {"BY"},
                 {"READY", Align::kRight},
                 {"NEXT", Align::kRight},
                 {"GROUPS", Align::kRight},
                 {"LAG", Align::kRight},
                 {"DUE 10m", Align::kRight}});
    for (const auto& [topic, fact] : facts) {
      const std::string& kinds = fact.row.kinds;
      table.Add({Printable(topic, kNameWidth), kinds.empty() ? "-" : kinds,
                 fact.row.origin.empty() ? "-" : fact.row.origin,
                 FormatCount(fact.row.end_of_ready - fact.row.first_ready),
                 FormatCount(fact.row.end_of_ready), FormatCount(fact.groups),
                 FormatCount(fact.lag),
                 Concat(FormatCount(fact.due_10m), complete ? "" : "+")});
    }
    return table.ToString();
  }

  static std::string Json(const std::map<std::string, TopicFacts>& facts) {
    std::string out;
    for (const auto& [topic, fact] : facts) {
      JsonObject object(&out);
      object.Text("topic", topic);
      object.Uint("ready", fact.row.end_of_ready - fact.row.first_ready);
      object.Uint("first_ready", fact.row.first_ready);
      object.Uint("next", fact.row.end_of_ready);
      object.Uint("groups", fact.groups).Uint("lag", fact.lag);
      object.Uint("due_10m", fact.due_10m);
      object.Text("kinds", fact.row.kinds).Text("origin", fact.row.origin);
      object.End();
      out.push_back('\n');
    }
    return out;
  }

  AdminFlags server_;
  bool json_ = false;
  std::string create_, kinds_, delete_;
  bool force_ = false;
};

class GroupsCommand final : public Command {
 public:
  std::string_view name() const override { return "groups"; }

  void Declare(CLI::App* app) override {
    app->description("Lists the consumer groups of a running server");
    app->footer(kGroupsFooter);
    server_.Declare(app);
    app->add_option("--topic", topic_, "only of this topic")
        ->type_name("TOPIC");
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    const absl::Status status = List(console);
    return status.ok() ? kExitOk : Fail(console, "", status);
  }

 private:
  absl::Status List(const Console& console) {
    ASSIGN_OR_RETURN(const auto admin, server_.Connect(console));
    ASSIGN_OR_RETURN(const std::string groups, admin->Get("/v1/groups"));
    ASSIGN_OR_RETURN(auto rows, ParseGroups(groups));
    std::erase_if(rows, [this](const GroupRow& row) {
      return !topic_.empty() && row.topic != topic_;
    });
    return console.out->Write(json_ ? Json(rows) : Text(rows));
  }

  static std::string Text(const std::vector<GroupRow>& rows) {
    Table table({{"TOPIC"},
                 {"GROUP"},
                 {"LAG", Align::kRight},
                 {"IN FLIGHT", Align::kRight},
                 {"RETRY", Align::kRight},
                 {"DEAD", Align::kRight},
                 {"NEXT", Align::kRight}});
    for (const GroupRow& row : rows) {
      table.Add({Printable(row.topic, kNameWidth),
                 Printable(row.group, kNameWidth), FormatCount(row.lag),
                 FormatCount(row.leased), FormatCount(row.waiting_retry),
                 FormatCount(row.dead_letters), FormatCount(row.next)});
    }
    return table.ToString();
  }

  static std::string Json(const std::vector<GroupRow>& rows) {
    std::string out;
    for (const GroupRow& row : rows) {
      JsonObject object(&out);
      object.Text("topic", row.topic).Text("group", row.group);
      object.Uint("lag", row.lag).Uint("in_flight", row.leased);
      object.Uint("waiting_retry", row.waiting_retry);
      object.Uint("dead_letters", row.dead_letters);
      object.Uint("next", row.next).End();
      out.push_back('\n');
    }
    return out;
  }

  AdminFlags server_;
  std::string topic_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTopicsCommand() {
  return std::make_unique<TopicsCommand>();
}
std::unique_ptr<Command> MakeGroupsCommand() {
  return std::make_unique<GroupsCommand>();
}

}  // namespace hourglass
