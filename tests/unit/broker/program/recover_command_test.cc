#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "broker/topics/topics_file.h"
#include "tests/support/damaged_store.h"
#include "tests/support/string_console.h"

namespace hourglass {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kDir[] = "/s";

// The console's disk, with a store that a real DelayStore made.
class RecoverCommandTest : public ::testing::Test {
 protected:
  RecoverCommandTest() {
    options_.clock = &console_.clock;
    options_.file_system = &fs();
    options_.threads = false;
    options_.log_segment_bytes = 16u << 20;
    auto store = *DelayStore::Open(kDir, options_);
    for (int i = 0; i < 3; ++i) {
      const std::string n = std::to_string(i);
      const std::string id = "id" + n, body = "body" + n;
      MessageView view;
      view.topic = i == 2 ? "travel" : "kitchen";
      view.id = id;
      view.body = body;
      view.due_ms = console_.clock.NowMs() + 3'600'000 * (3 - i);
      EXPECT_TRUE(store->Put(view).ok());
    }
    EXPECT_TRUE(store->Close().ok());
  }

  MemoryFileSystem& fs() { return console_.file_system; }
  Path File(const std::string& dir, const std::string& ending) {
    const Path at = Path(kDir) / dir;
    const std::vector<std::string> names = *fs().List(at);
    for (const std::string& name : names) {
      if (name.ends_with(ending)) return at / name;
    }
    ADD_FAILURE() << "no *" << ending;
    return {};
  }
  void Flip(const Path& file, const std::string& text) {
    std::string bytes = fs().Content(file);
    const size_t at = bytes.find(text);
    ASSERT_NE(at, std::string::npos);
    bytes[at] ^= 1;
    fs().SetContent(file, bytes);
  }
  std::vector<nlohmann::json> Lines() {
    std::vector<nlohmann::json> lines;
    std::istringstream in(console_.out.text());
    for (std::string line; std::getline(in, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

  StringConsole console_;
  StoreOptions options_;
};

TEST_F(RecoverCommandTest, VerifySaysSound) {
  EXPECT_EQ(console_.Run({"recover", "verify", kDir}), 0);
  EXPECT_THAT(console_.out.text(),
              AllOf(HasSubstr("commitlog/00000000000000000000.log"),
                    HasSubstr("3 messages pending\nsound\n")));
  EXPECT_THAT(console_.err.text(), IsEmpty());
}

TEST_F(RecoverCommandTest, VerifyNamesDamageAndWhatToDo) {
  Flip(File("hours", "04.delaylog"), "body2");
  EXPECT_EQ(console_.Run({"recover", "verify", kDir}), 1);
  EXPECT_THAT(console_.out.text(),
              AllOf(HasSubstr("DAMAGE hours/2026-11-21T04.delaylog: record 1"),
                    HasSubstr("1 message due 2026-11-21T04:00:00.000Z"),
                    HasSubstr("ids id2"),
                    HasSubstr("hourglass recover repair /s --out NEW_DIR")));
}

TEST_F(RecoverCommandTest, VerifyAsJson) {
  Flip(File("hours", "04.delaylog"), "body2");
  EXPECT_EQ(console_.Run({"recover", "verify", kDir, "--json"}), 1);
  const auto json = Lines().at(0);
  EXPECT_EQ(json["sound"], false);
  EXPECT_EQ(json["findings"][0]["record"], 1);
  EXPECT_EQ(json["findings"][0]["ids"][0], "id2");
  EXPECT_GT(json["files"].size(), 5u);
}

TEST_F(RecoverCommandTest, RefusesWhatItCannotRead) {
  EXPECT_EQ(console_.Run({"recover", "verify", "/nowhere"}), 2);
  EXPECT_THAT(console_.err.text(), HasSubstr("does not exist"));
  const auto store = DelayStore::Open(kDir, options_);
  ASSERT_TRUE(store.ok());
  for (const char* command : {"verify", "list", "export"}) {
    EXPECT_EQ(console_.Run({"recover", command, kDir}), 2);
    EXPECT_THAT(console_.err.text(),
                HasSubstr("/s is open in another process"));
  }
  EXPECT_EQ(console_.Run({"recover"}), 2);
  EXPECT_EQ(console_.Run({"recover", "repair", kDir}), 2);
  EXPECT_THAT(console_.err.text(), HasSubstr("--out"));
}

TEST_F(RecoverCommandTest, ListSortsFiltersAndLimits) {
  EXPECT_EQ(console_.Run({"recover", "list", kDir, "--json"}), 0);
  auto lines = Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["id"], "id2");
  EXPECT_EQ(lines[2]["id"], "id0");
  EXPECT_EQ(console_.Run({"recover", "list", kDir, "--json", "--limit", "1"}),
            0);
  EXPECT_EQ(Lines().size(), 1u);
  EXPECT_THAT(console_.err.text(), HasSubstr("there are 3"));
  EXPECT_EQ(console_.Run({"recover", "list", kDir, "--topic", "travel"}), 0);
  EXPECT_THAT(console_.out.text(),
              AllOf(HasSubstr("body2"), Not(HasSubstr("body1"))));
  EXPECT_EQ(
      console_.Run({"recover", "list", kDir, "--to", "1h", "--limit", "0"}), 0);
  EXPECT_THAT(console_.out.text(), HasSubstr("nothing is pending"));
}

TEST_F(RecoverCommandTest, ListGivesTheHandlesOfTheStore) {
  EXPECT_EQ(console_.Run({"recover", "list", kDir, "--json"}), 0);
  const std::string handle = Lines().at(0)["handle"];
  const auto store = *DelayStore::Open(kDir, options_);
  EXPECT_EQ(*store->Cancel(*Handle::Parse(handle)), CancelAnswer::kCancelled);
}

TEST_F(RecoverCommandTest, ExportIsWhatPutReads) {
  EXPECT_EQ(console_.Run({"recover", "export", kDir, "--topic", "travel"}), 0);
  EXPECT_EQ(console_.out.text(),
            "{\"id\":\"id2\",\"topic\":\"travel\",\"body\":\"body2\","
            "\"deliver_at\":\"2026-11-21T04:00:00.000Z\"}\n");
  console_.Input(console_.out.text());
  EXPECT_EQ(console_.Run({"recover", "import", "--data", "/new", "--json"}), 0);
  EXPECT_EQ(Lines().at(0)["id"], "id2");
  EXPECT_THAT(console_.err.text(), HasSubstr("1 messages imported"));
}

TEST_F(RecoverCommandTest, RepairSavesAndListsWhatIsLost) {
  Flip(File("hours", "04.delaylog"), "body2");
  Flip(File("commitlog", ".log"), "body2");
  EXPECT_EQ(console_.Run({"recover", "repair", kDir, "--out", "/r",
                          "--log-segment-bytes", "16MiB"}),
            1);
  EXPECT_THAT(console_.out.text(),
              AllOf(HasSubstr("pending           2"), HasSubstr("LOST"),
                    HasSubstr("a message due 2026-11-21T04:00:00.000Z"),
                    HasSubstr("ids id2"), HasSubstr("1 message lost")));
  EXPECT_EQ(console_.Run({"recover", "verify", "/r"}), 0);
  EXPECT_EQ(console_.Run({"recover", "repair", kDir, "--out", "/r"}), 2);
  EXPECT_THAT(console_.err.text(), HasSubstr("/r is not empty"));
}

TEST_F(RecoverCommandTest, RepairInPlace) {
  EXPECT_EQ(console_.Run({"recover", "repair", kDir, "--in-place", "--json",
                          "--log-segment-bytes", "16MiB"}),
            0);
  const auto json = Lines().at(0);
  EXPECT_EQ(json["pending"], 3);
  EXPECT_EQ(json["out"], kDir);
  EXPECT_EQ(console_.Run({"recover", "verify", kDir}), 0);
  EXPECT_EQ(
      console_.Run({"recover", "verify", json["kept"].get<std::string>()}), 0);
}

TEST_F(RecoverCommandTest, TopicsOfOperatorsComeAlong) {
  const KeptTopics topics = {{"bills", *TopicKinds::Parse("DELAY")}};
  ASSERT_TRUE(WriteTopicsFile(&fs(), kDir, topics).ok());
  // To the store it is nobody's file.
  EXPECT_EQ(console_.Run({"recover", "verify", kDir}), 0);
  EXPECT_EQ(console_.Run({"recover", "repair", kDir, "--out", "/r",
                          "--log-segment-bytes", "16MiB"}),
            0);
  EXPECT_THAT(console_.out.text(), HasSubstr("copied too: 1 topic of"));
  EXPECT_EQ(*ReadTopicsFile(&fs(), "/r"), topics);
  EXPECT_EQ(console_.Run({"recover", "repair", kDir, "--in-place", "--json",
                          "--log-segment-bytes", "16MiB"}),
            0);
  EXPECT_EQ(Lines().at(0)["topics"], 1);
  EXPECT_EQ(*ReadTopicsFile(&fs(), kDir), topics);
  // A damaged one stops no repair.
  Flip(Path(kDir) / "topics", "bills");
  EXPECT_EQ(console_.Run({"recover", "repair", kDir, "--out", "/r2",
                          "--log-segment-bytes", "16MiB"}),
            0);
  EXPECT_THAT(console_.out.text(), HasSubstr("not copied: /s/topics is dam"));
  EXPECT_FALSE(*fs().Exists("/r2/topics"));
}

TEST_F(RecoverCommandTest, InspectKnowsEachKindOfFile) {
  const struct {
    const char* dir;
    const char* ending;
    const char* text;
  } kinds[] = {{"", "HOURGLASS", "kind=identity"},
               {"commitlog", ".log", "kind=commit log"},
               {"hours", "04.delaylog", "id=id2"},
               {"hours", "04.delayindex", "due=2026-11-21T04:00:00.000Z"}};
  for (const auto& kind : kinds) {
    const std::string file = File(kind.dir, kind.ending).string();
    EXPECT_EQ(console_.Run({"recover", "inspect", file}), 0) << file;
    EXPECT_THAT(console_.out.text(), HasSubstr(kind.text));
    EXPECT_EQ(console_.Run({"recover", "inspect", file, "--json"}), 0);
    EXPECT_GE(Lines().size(), 1u);
  }
  Flip(File("hours", "04.delaylog"), "body2");
  EXPECT_EQ(console_.Run(
                {"recover", "inspect", File("hours", "04.delaylog").string()}),
            1);
  EXPECT_THAT(console_.out.text(), HasSubstr("damage="));
  fs().SetContent("/s/notes.txt", "precious");
  EXPECT_EQ(console_.Run({"recover", "inspect", "/s/notes.txt"}), 2);
}

}  // namespace
}  // namespace hourglass
