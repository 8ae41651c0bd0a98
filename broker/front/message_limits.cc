#include "broker/front/message_limits.h"

#include <algorithm>
#include <array>

#include "broker/front/digest.h"
#include "broker/front/message_form.h"
#include "broker/front/names.h"
#include "broker/front/proto_time.h"
#include "broker/text.h"

namespace hourglass {
namespace {

constexpr size_t kIdBytesMax = 255;
// As the protocol's other servers reserve them; sorted.
constexpr std::array<std::string_view, 40> kReserved = {
    "1ST_POP_TIME",
    "BUYER_ID",
    "CHECK_IMMUNITY_TIME_IN_SECONDS",
    "CONSUME_START_TIME",
    "CORRECTION_FLAG",
    "DELAY",
    "DUP_INFO",
    "EXTEND_UNIQ_INFO",
    "INNER_BASE",
    "INNER_NUM",
    "KEYS",
    "MAX_OFFSET",
    "MAX_RECONSUME_TIMES",
    "MIN_OFFSET",
    "MQ2_FLAG",
    "MSG_REGION",
    "ORIGIN_MESSAGE_ID",
    "PGROUP",
    "POP_CK",
    "POP_CK_OFFSET",
    "REAL_QID",
    "REAL_TOPIC",
    "RECONSUME_TIME",
    "RETRY_TOPIC",
    "TAGS",
    "TIMER_DELAY_MS",
    "TIMER_DELAY_SEC",
    "TIMER_DELIVER_MS",
    "TIMER_DEL_UNIQKEY",
    "TIMER_DEQUEUE_MS",
    "TIMER_ENQUEUE_MS",
    "TIMER_OUT_MS",
    "TIMER_ROLL_TIMES",
    "TRACE_ON",
    "TRANSACTION_CHECK_TIMES",
    "TRANSACTION_PREPARED_QUEUE_OFFSET",
    "TRANSFER_FLAG",
    "TRAN_MSG",
    "UNIQ_KEY",
    "WAIT",
};
static_assert(std::is_sorted(kReserved.begin(), kReserved.end()));

Verdict Refuse(proto::Code code, std::string text) {
  return Verdict::Refuse(code, std::move(text));
}

Verdict CheckId(const proto::SystemProperties& system) {
  const std::string& id = system.message_id();
  if (!IsBlankText(id) && id.size() <= kIdBytesMax &&
      !HasControlCharacter(id)) {
    return {};
  }
  return Refuse(proto::ILLEGAL_MESSAGE_ID,
                Concat("message id: ", id.size(),
                       " bytes; expected 1 to 255, and no control characters"));
}

Verdict CheckBody(const proto::Message& message, const FrontOptions& options) {
  const size_t size = message.body().size();
  if (size == 0) return Refuse(proto::MESSAGE_BODY_EMPTY, "body: empty");
  if (size <= options.body_bytes_max) return {};
  return Refuse(proto::MESSAGE_BODY_TOO_LARGE,
                Concat("body: ", size, " bytes; expected at most ",
                       options.body_bytes_max, " (body_bytes_max)"));
}

// Senders need not give one. CRC32 is written in as many ways as there are
// clients, so it is not held against them.
Verdict CheckDigest(const proto::Message& message) {
  const proto::Digest& digest = message.system_properties().body_digest();
  std::string expected;
  if (digest.type() == proto::MD5) expected = Md5Hex(message.body());
  if (digest.type() == proto::SHA1) expected = Sha1Hex(message.body());
  if (expected.empty() || digest.checksum().empty()) return {};
  const auto same = [](unsigned char a, unsigned char b) {
    return std::toupper(a) == b;
  };
  const std::string& given = digest.checksum();
  if (std::equal(given.begin(), given.end(), expected.begin(), expected.end(),
                 same)) {
    return {};
  }
  return Refuse(proto::MESSAGE_CORRUPTED,
                Concat("body digest: ", given, "; the body's is ", expected));
}

Verdict CheckTag(const proto::SystemProperties& system) {
  if (!system.has_tag()) return {};
  const std::string& tag = system.tag();
  const bool bad = IsBlankText(tag) || tag.find('|') != std::string::npos ||
                   HasControlCharacter(tag);
  if (!bad) return {};
  return Refuse(proto::ILLEGAL_MESSAGE_TAG,
                "tag: expected some text without '|' and control characters");
}

Verdict CheckKeys(const proto::SystemProperties& system) {
  for (const std::string& key : system.keys()) {
    if (IsBlankText(key) || HasControlCharacter(key)) {
      return Refuse(proto::ILLEGAL_MESSAGE_KEY,
                    "key: expected some text without control characters");
    }
  }
  return {};
}

Verdict CheckMessageGroup(const proto::SystemProperties& system,
                          const FrontOptions& options) {
  if (!system.has_message_group()) return {};
  const std::string& group = system.message_group();
  if (!IsBlankText(group) && group.size() <= options.message_group_bytes_max &&
      !HasControlCharacter(group)) {
    return {};
  }
  return Refuse(
      proto::ILLEGAL_MESSAGE_GROUP,
      Concat("message group: ", group.size(), " bytes; expected 1 to ",
             options.message_group_bytes_max,
             " (message_group_bytes_max), and no control characters"));
}

Verdict CheckProperty(std::string_view name) {
  if (IsBlankText(name) || HasControlCharacter(name)) {
    return Refuse(proto::ILLEGAL_MESSAGE_PROPERTY_KEY,
                  "property: expected a name without control characters");
  }
  if (!IsReservedProperty(name)) return {};
  return Refuse(proto::ILLEGAL_MESSAGE_PROPERTY_KEY,
                Concat("property ", name, ": the name is reserved"));
}

Verdict CheckProperties(const proto::Message& message,
                        const FrontOptions& options) {
  const auto& properties = message.user_properties();
  if (properties.size() > options.user_properties_max) {
    return Refuse(
        proto::MESSAGE_PROPERTIES_TOO_LARGE,
        Concat("properties: ", properties.size(), "; expected at most ",
               options.user_properties_max, " (user_properties_max)"));
  }
  size_t bytes = 0;
  for (const auto& [name, value] : properties) {
    bytes += name.size() + value.size();
    if (Verdict verdict = CheckProperty(name); !verdict.ok()) return verdict;
  }
  if (bytes <= options.user_properties_bytes_max) return {};
  return Refuse(proto::MESSAGE_PROPERTIES_TOO_LARGE,
                Concat("properties: ", bytes, " bytes; expected at most ",
                       options.user_properties_bytes_max,
                       " (user_properties_bytes_max)"));
}

Verdict CheckKind(const proto::SystemProperties& system) {
  if (system.has_lite_topic() || system.message_type() == proto::LITE) {
    return Refuse(proto::ILLEGAL_LITE_TOPIC, "lite topics are not served");
  }
  const bool half = system.message_type() == proto::TRANSACTION;
  if (half && system.has_delivery_timestamp()) {
    return Refuse(proto::MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
                  "a transaction's message with a delivery time; expected one "
                  "of both");
  }
  return {};
}

}  // namespace

bool IsReservedProperty(std::string_view name) {
  return name.starts_with(kOwnPrefix) || name == kMessageGroupProperty ||
         name == kTransactionIdProperty ||
         std::binary_search(kReserved.begin(), kReserved.end(), name);
}

Verdict CheckDeliveryTime(int64_t due_ms, const FrontOptions& options,
                          int64_t now_ms) {
  if (due_ms - now_ms <= options.delay_ms_max) return {};
  return Refuse(
      proto::ILLEGAL_DELIVERY_TIME,
      Concat("delivery time: ", due_ms - now_ms,
             " ms ahead; the max delay time of message is too large, max is ",
             options.delay_ms_max, " ms (delay_ms_max)"));
}

Verdict CheckMessage(const proto::Message& message, const FrontOptions& options,
                     int64_t now_ms) {
  const proto::SystemProperties& system = message.system_properties();
  Verdict verdict = CheckId(system);
  const auto also = [&verdict](auto check) {
    if (verdict.ok()) verdict = check();
  };
  also([&] { return CheckBody(message, options); });
  also([&] { return CheckDigest(message); });
  also([&] { return CheckTag(system); });
  also([&] { return CheckKeys(system); });
  also([&] { return CheckMessageGroup(system, options); });
  also([&] { return CheckProperties(message, options); });
  also([&] { return CheckKind(system); });
  also([&] {
    if (!system.has_delivery_timestamp()) return Verdict();
    return CheckDeliveryTime(MsOf(system.delivery_timestamp()), options,
                             now_ms);
  });
  return verdict;
}

}  // namespace hourglass
