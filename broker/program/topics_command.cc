// `hourglass topics` and `hourglass groups`: what a running server has.
#include <CLI/CLI.hpp>
#include <algorithm>
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
    R"(READY is what is kept of messages that became ready, read or not; NEXT is the
index of the next one; LAG is of the group that is furthest behind; DUE 10m is
what becomes ready in ten minutes ("+": at least).

Examples:
  hourglass topics
  hourglass topics --json | jq -r 'select(.lag > 1000) | .topic'

Exit codes: 0 shown; 2 could not run.)";

constexpr char kGroupsFooter[] =
    R"(LAG is what is ready and not acknowledged; IN FLIGHT of it is with a consumer,
RETRY waits to be delivered again. The largest lag comes first.

Examples:
  hourglass groups
  hourglass groups --topic orders --json

Exit codes: 0 shown; 2 could not run.)";

constexpr size_t kNameWidth = 48;
constexpr char kDuePath[] = "/v1/forecast?by_topic=10m";

struct TopicFacts {
  TopicRow row;
  uint64_t groups = 0, lag = 0, due_10m = 0;
};

class TopicsCommand final : public Command {
 public:
  std::string_view name() const override { return "topics"; }

  void Declare(CLI::App* app) override {
    app->description("Lists the topics of a running server");
    app->footer(kTopicsFooter);
    server_.Declare(app);
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    const absl::Status status = List(console);
    return status.ok() ? kExitOk : Fail(console, "", status);
  }

 private:
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
                 {"READY", Align::kRight},
                 {"NEXT", Align::kRight},
                 {"GROUPS", Align::kRight},
                 {"LAG", Align::kRight},
                 {"DUE 10m", Align::kRight}});
    for (const auto& [topic, fact] : facts) {
      table.Add({Printable(topic, kNameWidth),
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
      object.Uint("due_10m", fact.due_10m).End();
      out.push_back('\n');
    }
    return out;
  }

  AdminFlags server_;
  bool json_ = false;
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
