#include "broker/admin/admin_api.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "broker/admin/admin_access.h"
#include "broker/admin/due_forecast.h"
#include "broker/admin/http_params.h"
#include "broker/admin/metrics.h"
#include "broker/admin/pending_admin.h"
#include "broker/admin/topic_admin.h"
#include "broker/text/json_lines.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

using Json = nlohmann::ordered_json;

// Text that is not UTF-8 is shown with replacement characters.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

int HttpCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

HttpAnswer Refuse(int code, std::string_view name, std::string_view why) {
  const Json error = {{"error", {{"code", name}, {"message", why}}}};
  return {code, Dump(error)};
}

HttpAnswer Refuse(const absl::Status& status) {
  return Refuse(HttpCode(status),
                FromAbsl(absl::StatusCodeToString(status.code())),
                MessageOf(status));
}

HttpAnswer Answer(const Json& json) { return {200, Dump(json)}; }

// JSON lines as an array.
std::string Array(std::string lines) {
  for (char& c : lines) {
    if (c == '\n') c = ',';
  }
  if (!lines.empty()) lines.pop_back();
  return "[" + lines + "]";
}

HttpAnswer MoveAnswer(CancelAnswer answer, const Handle* moved_to) {
  const bool done = answer == CancelAnswer::kCancelled;
  Json json = {{"answer", CancelAnswerName(answer)}};
  if (done && moved_to != nullptr) {
    json["handle"] = moved_to->ToString();
    if (!moved_to->IsNone()) json["due_ms"] = moved_to->due_ms();
  }
  HttpAnswer out = Answer(json);
  if (answer == CancelAnswer::kAlreadyDelivered) out.status = 409;
  if (answer == CancelAnswer::kNeverExisted) out.status = 404;
  return out;
}

HttpAnswer BulkAnswer(const BulkResult& result) {
  Json json = {{"matched", result.matched},
               {"changed", result.changed},
               {"too_late", result.too_late},
               {"refused", result.refused},
               {"more", result.more}};
  if (!result.why.ok()) json["refused_because"] = MessageOf(result.why);
  return Answer(json);
}

Json KindNames(const TopicKinds& kinds) {
  Json names = Json::array();
  for (const TopicKind kind : kinds.List()) {
    names.push_back(TopicKindName(kind));
  }
  return names;
}

const char* ChangeName(TopicChange change) {
  switch (change) {
    case TopicChange::kCreated:
      return "created";
    case TopicChange::kChanged:
      return "changed";
    case TopicChange::kUnchanged:
      return "unchanged";
  }
  return "";
}

// "/v1/messages/{name}" against "/v1/messages/A-17": the parts, or nothing.
std::optional<std::vector<std::string>> Match(std::string_view pattern,
                                              std::string_view path) {
  std::vector<std::string> parts;
  while (!pattern.empty() && !path.empty()) {
    if (pattern.front() != '{') {
      if (pattern.front() != path.front()) return std::nullopt;
      pattern.remove_prefix(1);
      path.remove_prefix(1);
      continue;
    }
    // An id may have slashes.
    const bool rest = pattern == "{name}";
    pattern.remove_prefix(pattern.find('}') + 1);
    const size_t end =
        rest ? path.size() : std::min(path.find('/'), path.size());
    if (end == 0) return std::nullopt;
    parts.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return parts;
}

}  // namespace

// The routes with what they do. A struct of its own so that the header needs
// none of it.
struct AdminRoutes {
  struct Call {
    AdminApi* api;
    const HttpRequest& request;
    std::vector<std::string> parts;  // of the path
    HttpParams params;
    int64_t now_ms;

    DelayStore* store() const { return api->store_; }
    const AdminOptions& options() const { return api->options_; }
    PendingAdmin pending() const { return {store(), options()}; }
    TopicAdmin topics() const {
      return {store(), api->groups_, api->topics_, options()};
    }
    InputLimits limits() const {
      return InputLimits::From(api->store_options_);
    }
  };
  using Handler = absl::StatusOr<HttpAnswer> (*)(Call*);
  struct Route {
    AdminRoute shown;
    Handler handler;
  };

  static const std::vector<Route>& All();
  static HttpAnswer Dispatch(AdminApi* api, const HttpRequest& request);

  static absl::StatusOr<PendingWindow> Window(Call* call, size_t count_max);
  static absl::StatusOr<int64_t> DueOf(Call* call);

  static absl::StatusOr<HttpAnswer> Index(Call* call);
  static absl::StatusOr<HttpAnswer> OpenApi(Call* call);
  static absl::StatusOr<HttpAnswer> Health(Call* call);
  static absl::StatusOr<HttpAnswer> Ready(Call* call);
  static absl::StatusOr<HttpAnswer> Metrics(Call* call);
  static absl::StatusOr<HttpAnswer> Stats(Call* call);
  static absl::StatusOr<HttpAnswer> Topics(Call* call);
  static absl::StatusOr<HttpAnswer> PutTopic(Call* call);
  static absl::StatusOr<HttpAnswer> ForgetTopic(Call* call);
  static absl::StatusOr<HttpAnswer> Groups(Call* call);
  static absl::StatusOr<HttpAnswer> Forecast(Call* call);
  static absl::StatusOr<HttpAnswer> ListMessages(Call* call);
  static absl::StatusOr<HttpAnswer> PutMessage(Call* call);
  static absl::StatusOr<HttpAnswer> GetMessage(Call* call);
  static absl::StatusOr<HttpAnswer> CancelMessage(Call* call);
  static absl::StatusOr<HttpAnswer> MoveMessage(Call* call);
  static absl::StatusOr<HttpAnswer> DeliverMessage(Call* call);
  static absl::StatusOr<HttpAnswer> CancelMany(Call* call);
  static absl::StatusOr<HttpAnswer> ShiftMany(Call* call);
  static absl::StatusOr<HttpAnswer> PeekReady(Call* call);
};

const std::vector<AdminRoutes::Route>& AdminRoutes::All() {
  static constexpr char kTopic[] = "topic: only of this topic";
  static constexpr char kFrom[] = "from: due at this moment or later";
  static constexpr char kTo[] = "to: due before this moment";
  static constexpr char kDryRun[] = "dry_run: true = only count";
  static const auto* const routes = new std::vector<Route>{
      {{"GET", "/", "What there is", {}, ""}, &Index},
      {{"GET", "/openapi.json", "This description", {}, ""}, &OpenApi},
      {{"GET", "/healthz", "200 while the process answers", {}, ""}, &Health},
      {{"GET", "/readyz", "200 while puts are taken, else 503", {}, ""},
       &Ready},
      {{"GET", "/metrics", "Numbers for Prometheus", {}, ""}, &Metrics},
      {{"GET", "/v1/stats", "The store's numbers", {}, ""}, &Stats},
      {{"GET",
        "/v1/topics",
        "Topics, their kinds, their ready messages",
        {},
        ""},
       &Topics},
      {{"PUT",
        "/v1/topics/{topic}",
        "Create a topic (201), or change its kinds (200)",
        {"kinds: as NORMAL+DELAY; without it all"},
        ""},
       &PutTopic},
      {{"DELETE",
        "/v1/topics/{topic}",
        "Forget it: 200, or 409 while messages wait; none is removed",
        {"force: true = also while messages wait"},
        ""},
       &ForgetTopic},
      {{"GET", "/v1/groups", "Consumer groups: lag, in flight", {}, ""},
       &Groups},
      {{"GET",
        "/v1/forecast",
        "What is due in the next 60 seconds, 60 minutes, 24 hours",
        {"by_topic: a duration such as 60s: also by topic, so far ahead"},
        ""},
       &Forecast},
      {{"GET",
        "/v1/messages",
        "Pending messages by due time",
        {kTopic, kFrom, kTo, "limit: at most so many",
         "after: \"next\" of the page before"},
        ""},
       &ListMessages},
      {{"POST",
        "/v1/messages",
        "Put a message",
        {},
        R"({"topic":"orders","body":"pay me","delay":"30s"})"},
       &PutMessage},
      {{"GET",
        "/v1/messages/{name}",
        "One pending message, by handle or id",
        {kTopic, kFrom, kTo},
        ""},
       &GetMessage},
      {{"DELETE",
        "/v1/messages/{name}",
        "Cancel it: 200, or 409 too late, or 404",
        {kTopic, kFrom, kTo},
        ""},
       &CancelMessage},
      {{"POST",
        "/v1/messages/{name}/reschedule",
        "Give it another due time",
        {"due: a moment, or a duration from now", kTopic, kFrom, kTo},
        ""},
       &MoveMessage},
      {{"POST",
        "/v1/messages/{name}/deliver",
        "Deliver it now",
        {kTopic, kFrom, kTo},
        ""},
       &DeliverMessage},
      {{"POST",
        "/v1/cancel",
        "Cancel all of a topic and a time window",
        {kTopic, kFrom, kTo, kDryRun, "limit: at most so many"},
        ""},
       &CancelMany},
      {{"POST",
        "/v1/shift",
        "Shift all of a topic and a time window",
        {"by: a duration, \"-1h\" = earlier", kTopic, kFrom, kTo, kDryRun,
         "limit: at most so many"},
        ""},
       &ShiftMany},
      {{"GET",
        "/v1/topics/{topic}/ready",
        "Ready messages, newest last, without consuming them",
        {"from: index to begin at", "limit: at most so many"},
        ""},
       &PeekReady},
  };
  return *routes;
}

HttpAnswer AdminRoutes::Dispatch(AdminApi* api, const HttpRequest& request) {
  std::string methods;
  for (const Route& route : All()) {
    auto parts = Match(route.shown.path, request.path);
    if (!parts) continue;
    if (request.method != route.shown.method) {
      Append(&methods, methods.empty() ? "" : ", ", route.shown.method);
      continue;
    }
    Call call{api, request, *std::move(parts), HttpParams(request.query),
              api->clock_->NowMs()};
    auto answer = route.handler(&call);
    return answer.ok() ? *std::move(answer) : Refuse(answer.status());
  }
  if (methods.empty()) {
    return Refuse(404, "NOT_FOUND",
                  Concat("there is no ", Quoted(request.path),
                         "; / lists what there is"));
  }
  return Refuse(405, "INVALID_ARGUMENT",
                Concat(request.method, " is not for ", Quoted(request.path),
                       "; expected ", methods));
}

absl::StatusOr<PendingWindow> AdminRoutes::Window(Call* call,
                                                  size_t count_max) {
  PendingWindow window;
  window.topic = call->params.Text("topic");
  ASSIGN_OR_RETURN(window.from_ms,
                   call->params.Moment("from", 0, call->now_ms));
  ASSIGN_OR_RETURN(window.to_ms,
                   call->params.Moment("to", INT64_MAX, call->now_ms));
  window.count_max = count_max;
  return window;
}

absl::StatusOr<HttpAnswer> AdminRoutes::Index(Call*) {
  Json list = Json::array();
  for (const Route& route : All()) {
    list.push_back(Concat(route.shown.method, " ", route.shown.path, "  ",
                          route.shown.summary));
  }
  return HttpAnswer{200, list.dump(2) + "\n"};
}

absl::StatusOr<HttpAnswer> AdminRoutes::OpenApi(Call*) {
  Json paths;
  for (const Route& route : All()) {
    Json parameters = Json::array();
    std::string_view path = route.shown.path;
    for (size_t at = path.find('{'); at != path.npos;
         at = path.find('{', at + 1)) {
      const auto name = path.substr(at + 1, path.find('}', at) - at - 1);
      parameters.push_back({{"name", name},
                            {"in", "path"},
                            {"required", true},
                            {"schema", {{"type", "string"}}}});
    }
    for (const std::string_view query : route.shown.query) {
      const size_t colon = query.find(':');
      parameters.push_back({{"name", query.substr(0, colon)},
                            {"in", "query"},
                            {"description", query.substr(colon + 2)},
                            {"schema", {{"type", "string"}}}});
    }
    std::string method = route.shown.method;
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    Json& one = paths[route.shown.path][method];
    one = {{"summary", route.shown.summary},
           {"parameters", parameters},
           {"responses", {{"200", {{"description", "done"}}}}}};
    if (*route.shown.body != '\0') {
      one["requestBody"]["content"]["application/json"]["example"] =
          Json::parse(route.shown.body);
    }
  }
  return Answer({{"openapi", "3.0.3"},
                 {"info", {{"title", "Hourglass admin"}, {"version", "1"}}},
                 {"paths", paths}});
}

absl::StatusOr<HttpAnswer> AdminRoutes::Health(Call*) {
  return Answer({{"status", "up"}});
}

absl::StatusOr<HttpAnswer> AdminRoutes::Ready(Call* call) {
  RETURN_IF_ERROR(call->params.Unknown());
  if (call->api->draining_) {
    return Refuse(503, "UNAVAILABLE", "the server is stopping");
  }
  RETURN_IF_ERROR(call->store()->Stats().failure);
  return Answer({{"status", "ready"}});
}

absl::StatusOr<HttpAnswer> AdminRoutes::Metrics(Call* call) {
  return HttpAnswer{200,
                    MetricsText(call->store(), call->api->groups_, call->now_ms,
                                call->options()),
                    "text/plain; version=0.0.4"};
}

absl::StatusOr<HttpAnswer> AdminRoutes::Stats(Call* call) {
  const StoreStats stats = call->store()->Stats();
  const auto lateness_ms = [&stats](double percent) {
    return static_cast<double>(stats.lateness_us.Percentile(percent)) / 1000;
  };
  return Answer({{"pending_messages", stats.pending_messages},
                 {"pending_bytes", stats.pending_bytes},
                 {"put_messages", stats.put_messages},
                 {"delivered_messages", stats.delivered_messages},
                 {"at_once_messages", stats.at_once_messages},
                 {"cancelled_messages", stats.cancelled_messages},
                 {"lost_messages", stats.lost_messages},
                 {"oldest_undelivered_ms", stats.oldest_undelivered_ms},
                 {"lateness_p50_ms", lateness_ms(50)},
                 {"lateness_p99_ms", lateness_ms(99)},
                 {"lateness_max_ms", lateness_ms(100)},
                 {"checkpoint_age_ms", stats.checkpoint_age_ms},
                 {"log_bytes", stats.log_end - stats.log_start},
                 {"hour_files", stats.hour_files},
                 {"notices", stats.notices},
                 {"failure", std::string(MessageOf(stats.failure))}});
}

absl::StatusOr<HttpAnswer> AdminRoutes::Topics(Call* call) {
  Json topics = Json::array();
  for (const TopicState& state : call->topics().List()) {
    Json one = {{"topic", state.topic},
                {"first_ready", state.first_ready},
                {"end_of_ready", state.end_of_ready}};
    if (call->api->topics_ != nullptr) {
      const TopicInfo info = state.info.value_or(TopicInfo());
      one["origin"] = TopicOriginName(info.origin);
      one["kinds"] = state.info ? KindNames(info.kinds) : Json::array();
    }
    topics.push_back(std::move(one));
  }
  return Answer({{"topics", topics}});
}

absl::StatusOr<HttpAnswer> AdminRoutes::PutTopic(Call* call) {
  const std::string text = call->params.Text("kinds");
  RETURN_IF_ERROR(call->params.Unknown());
  const auto kinds = TopicKinds::Parse(text);
  if (!kinds.ok()) {
    return absl::InvalidArgumentError(
        Concat("kinds: ", MessageOf(kinds.status())));
  }
  ASSIGN_OR_RETURN(const TopicChange change,
                   call->topics().Put(call->parts[0], *kinds));
  HttpAnswer answer = Answer({{"answer", ChangeName(change)},
                              {"topic", call->parts[0]},
                              {"kinds", KindNames(*kinds)}});
  if (change == TopicChange::kCreated) answer.status = 201;
  return answer;
}

absl::StatusOr<HttpAnswer> AdminRoutes::ForgetTopic(Call* call) {
  ASSIGN_OR_RETURN(const bool force, call->params.Flag("force"));
  RETURN_IF_ERROR(call->params.Unknown());
  RETURN_IF_ERROR(call->topics().Forget(call->parts[0], force));
  return Answer({{"answer", "forgotten"}, {"topic", call->parts[0]}});
}

absl::StatusOr<HttpAnswer> AdminRoutes::Groups(Call* call) {
  Json groups = Json::array();
  if (call->api->groups_ != nullptr) {
    for (const GroupState& state : call->api->groups_()) {
      groups.push_back({{"topic", state.topic},
                        {"group", state.group},
                        {"next", state.next.value()},
                        {"lag", state.lag},
                        {"leased", state.leased},
                        {"waiting_retry", state.waiting_retry},
                        {"dead_letters", state.dead_letters}});
    }
  }
  return Answer({{"groups", groups}});
}

absl::StatusOr<HttpAnswer> AdminRoutes::Forecast(Call* call) {
  const std::string by_topic = call->params.Text("by_topic");
  const auto span_ms = by_topic.empty()
                           ? absl::StatusOr<int64_t>(0)
                           : call->params.SignedDuration("by_topic");
  RETURN_IF_ERROR(span_ms.status());
  RETURN_IF_ERROR(call->params.Unknown());
  DueForecast forecast(call->store(), call->options());
  ASSIGN_OR_RETURN(const DueCounts counts, forecast.Next(call->now_ms));
  Json json = {{"now", FormatTimestamp(call->now_ms)},
               {"overdue", counts.overdue},
               {"seconds", counts.seconds},
               {"minutes", counts.minutes},
               {"hours", counts.hours},
               {"later", counts.later}};
  if (*span_ms > 0) {
    ASSIGN_OR_RETURN(const TopicCounts topics,
                     forecast.ByTopic(call->now_ms, *span_ms));
    json["by_topic"] = topics.messages;
    json["by_topic_complete"] = topics.complete;
  }
  return Answer(json);
}

absl::StatusOr<HttpAnswer> AdminRoutes::ListMessages(Call* call) {
  const size_t page_max = call->options().page_max;
  ASSIGN_OR_RETURN(const PendingWindow window, Window(call, 0));
  PendingQuery query;
  query.topic = window.topic;
  query.from_ms = window.from_ms;
  query.to_ms = window.to_ms;
  ASSIGN_OR_RETURN(query.count_max, call->params.Count("limit", 100, page_max));
  query.after = call->params.Text("after");
  RETURN_IF_ERROR(call->params.Unknown());
  ASSIGN_OR_RETURN(const PendingPage page, call->store()->Pending(query));
  std::string lines;
  for (const PendingMessage& one : page.messages) {
    AppendPendingLine(one, &lines);
  }
  std::string out;
  JsonObject object(&out);
  object.Name("messages");
  out += Array(std::move(lines));
  object.Text("next", page.next).End();
  return HttpAnswer{200, out + "\n"};
}

absl::StatusOr<HttpAnswer> AdminRoutes::PutMessage(Call* call) {
  RETURN_IF_ERROR(call->params.Unknown());
  Message message;
  const auto wrong = ParseInputLine(call->request.body, call->now_ms,
                                    call->limits(), &message);
  if (wrong) return absl::InvalidArgumentError(ToAbsl(wrong->ToString()));
  ASSIGN_OR_RETURN(const PutResult put, call->store()->Put(message.View()));
  std::string out;
  AppendAckLine(put, &out);
  return HttpAnswer{200, out};
}

absl::StatusOr<HttpAnswer> AdminRoutes::GetMessage(Call* call) {
  ASSIGN_OR_RETURN(const PendingWindow window, Window(call, 0));
  RETURN_IF_ERROR(call->params.Unknown());
  ASSIGN_OR_RETURN(const PendingMessage found,
                   call->pending().Find(call->parts[0], window));
  std::string out;
  AppendPendingLine(found, &out);
  return HttpAnswer{200, out};
}

absl::StatusOr<HttpAnswer> AdminRoutes::CancelMessage(Call* call) {
  ASSIGN_OR_RETURN(const PendingWindow window, Window(call, 0));
  RETURN_IF_ERROR(call->params.Unknown());
  ASSIGN_OR_RETURN(const Handle handle,
                   call->pending().FindHandle(call->parts[0], window));
  ASSIGN_OR_RETURN(const CancelAnswer answer, call->store()->Cancel(handle));
  return MoveAnswer(answer, nullptr);
}

absl::StatusOr<HttpAnswer> AdminRoutes::MoveMessage(Call* call) {
  ASSIGN_OR_RETURN(const PendingWindow window, Window(call, 0));
  ASSIGN_OR_RETURN(const int64_t due_ms,
                   call->params.Moment("due", -1, call->now_ms));
  RETURN_IF_ERROR(call->params.Unknown());
  if (due_ms < 0) {
    return absl::InvalidArgumentError(
        Concat("due: is missing; expected ", kTimestampExpected));
  }
  ASSIGN_OR_RETURN(const Handle handle,
                   call->pending().FindHandle(call->parts[0], window));
  ASSIGN_OR_RETURN(const MoveResult moved,
                   call->store()->Reschedule(handle, due_ms));
  return MoveAnswer(moved.answer, &moved.handle);
}

absl::StatusOr<HttpAnswer> AdminRoutes::DeliverMessage(Call* call) {
  ASSIGN_OR_RETURN(const PendingWindow window, Window(call, 0));
  RETURN_IF_ERROR(call->params.Unknown());
  ASSIGN_OR_RETURN(const Handle handle,
                   call->pending().FindHandle(call->parts[0], window));
  ASSIGN_OR_RETURN(const MoveResult moved, call->store()->DeliverNow(handle));
  return MoveAnswer(moved.answer, nullptr);
}

absl::StatusOr<HttpAnswer> AdminRoutes::CancelMany(Call* call) {
  const size_t bulk_max = call->options().bulk_max;
  ASSIGN_OR_RETURN(PendingWindow window, Window(call, bulk_max));
  ASSIGN_OR_RETURN(window.count_max,
                   call->params.Count("limit", bulk_max, bulk_max));
  ASSIGN_OR_RETURN(window.dry_run, call->params.Flag("dry_run"));
  RETURN_IF_ERROR(call->params.Unknown());
  ASSIGN_OR_RETURN(const BulkResult result, call->pending().CancelAll(window));
  return BulkAnswer(result);
}

absl::StatusOr<HttpAnswer> AdminRoutes::ShiftMany(Call* call) {
  const size_t bulk_max = call->options().bulk_max;
  ASSIGN_OR_RETURN(PendingWindow window, Window(call, bulk_max));
  ASSIGN_OR_RETURN(window.count_max,
                   call->params.Count("limit", bulk_max, bulk_max));
  ASSIGN_OR_RETURN(window.dry_run, call->params.Flag("dry_run"));
  ASSIGN_OR_RETURN(const int64_t by_ms, call->params.SignedDuration("by"));
  RETURN_IF_ERROR(call->params.Unknown());
  ASSIGN_OR_RETURN(const BulkResult result,
                   call->pending().ShiftAll(window, by_ms));
  return BulkAnswer(result);
}

absl::StatusOr<HttpAnswer> AdminRoutes::PeekReady(Call* call) {
  const std::string& topic = call->parts[0];
  const uint64_t first = call->store()->FirstReady(topic).value();
  ASSIGN_OR_RETURN(const uint64_t from,
                   call->params.Count("from", first, UINT64_MAX));
  ASSIGN_OR_RETURN(const uint64_t limit,
                   call->params.Count("limit", 10, call->options().page_max));
  RETURN_IF_ERROR(call->params.Unknown());
  ASSIGN_OR_RETURN(
      const auto ready,
      call->store()->ReadReady(topic, QueueIndex(from), limit, 4u << 20));
  std::string lines;
  for (const ReadyMessage& one : ready) AppendReadyLine(one, &lines);
  std::string out;
  JsonObject object(&out);
  object.Name("messages");
  out += Array(std::move(lines));
  const uint64_t next = ready.empty() ? from : ready.back().index.value() + 1;
  object.Uint("next", next).End();
  return HttpAnswer{200, out + "\n"};
}

AdminApi::AdminApi(DelayStore* store, ListGroups groups, Clock* clock,
                   const StoreOptions& store_options,
                   const AdminOptions& options)
    : store_(store),
      groups_(std::move(groups)),
      clock_(clock),
      store_options_(store_options),
      options_(options) {}

HttpAnswer AdminApi::Handle(const HttpRequest& request) {
  if (access_ != nullptr) {
    const absl::Status allowed = CheckAdminAccess(*access_, request);
    if (!allowed.ok()) return Refuse(allowed);
  }
  return AdminRoutes::Dispatch(this, request);
}

std::vector<AdminRoute> AdminApi::Routes() {
  std::vector<AdminRoute> routes;
  for (const auto& route : AdminRoutes::All()) routes.push_back(route.shown);
  return routes;
}

}  // namespace hourglass
