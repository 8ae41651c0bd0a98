// File: damaged_store.h
//
// What the tests of the offline tool share: a store with a bit of everything
// in it, closed, and ways to damage its files.
//
//   DamagedStore box;
//   box.Fill();                          // messages of every fate; closed
//   box.Flip(box.Only("hours", ".delaylog"), 100);
//   EXPECT_FALSE(box.Verify().sound());
//
// Threads: none.
#ifndef HOURGLASS_TESTS_SUPPORT_DAMAGED_STORE_H_
#define HOURGLASS_TESTS_SUPPORT_DAMAGED_STORE_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "recovery/verify.h"
#include "tests/support/test_store.h"

namespace hourglass {

struct DamagedStore : TestStore {
  // Delivered, cancelled, moved and pending messages in several hours, at
  // once ones, a consumer half way; closed in the end.
  void Fill() {
    Open();
    for (int i = 0; i < 6; ++i) {
      const std::string n = std::to_string(i);
      Put("soon" + n, InMs(500 + 100 * i));
      handles.push_back(Put("pending" + n, InMs(7'200'000 + 700 * i)));
      Put("next hour" + n, InMs(3'700'000 + 10 * i));
      TryPut("at once" + n, 0).IgnoreError();
    }
    const Handle cancelled = Put("cancelled", InMs(7'201'000));
    const Handle moved = Put("moved", InMs(60'000));
    Advance(2000);
    EXPECT_EQ(Cancel(cancelled), CancelAnswer::kCancelled);
    EXPECT_TRUE(store->Reschedule(moved, InMs(7'205'000)).ok());
    EXPECT_TRUE(store->CommitProgress("t", "group", QueueIndex(5)).ok());
    Acknowledge({7, 8, 10});
    const AttemptCount count{QueueIndex(6), 3};
    store->NoteAttemptsAsync("t", "group", {&count, 1}, [](absl::Status) {});
    Step();
    Advance(2000);
    Shut();
  }

  void Acknowledge(const std::vector<QueueIndex>& indexes) {
    store->AckAsync("t", "group", indexes, [](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
    });
    Step();
  }
  void Acknowledge(std::initializer_list<uint64_t> indexes) {
    Acknowledge(std::vector<QueueIndex>(indexes.begin(), indexes.end()));
  }
  // What Fill left of the consumer: next 5, 7, 8 and 10 acknowledged, three
  // attempts of 6.
  static GroupProgress Expected() {
    GroupProgress progress(QueueIndex(5));
    progress.Ack(QueueIndex(7), QueueIndex(9));
    progress.Ack(QueueIndex(10), QueueIndex(11));
    progress.NoteAttempts(QueueIndex(6), 3);
    return progress;
  }

  void Shut() {
    ASSERT_TRUE(store->Close().ok());
    store.reset();
  }

  SalvageSource Source() { return {fs.get(), dir}; }
  VerifyReport Verify() {
    auto report = VerifyStore(Source());
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : VerifyReport();
  }
  static std::string TextOf(const VerifyReport& report) {
    std::string out;
    for (const Finding& finding : report.findings.all()) {
      out += finding.file + ": " + finding.what + "; " + finding.means + "\n";
    }
    return out;
  }

  // Every file below the store, with its content: nothing may have changed.
  std::vector<Path> Files(const Path& below = {}) {
    std::vector<Path> files;
    const Path from = below.empty() ? dir : below;
    for (const std::string& name : Names(from)) {
      const Path path = from / name;
      if (fs->IsDirectory(path).value_or(false)) {
        for (const Path& file : Files(path)) files.push_back(file);
      } else {
        files.push_back(path);
      }
    }
    return files;
  }
  std::map<std::string, std::string> Image() {
    std::map<std::string, std::string> image;
    for (const Path& file : Files()) {
      image[file.string()] = fs->Content(file);
    }
    return image;
  }

  // Of the commit log, oldest first, without the one being prepared.
  std::vector<Path> LogFiles() {
    auto files = Files(dir / "commitlog");
    std::erase_if(files,
                  [](const Path& file) { return file.extension() != ".log"; });
    return files;
  }
  // Files whose name ends so.
  std::vector<Path> Ending(const std::string& ending) {
    std::vector<Path> found;
    for (const Path& file : Files()) {
      const std::string name = file.string();
      if (name.size() >= ending.size() &&
          name.substr(name.size() - ending.size()) == ending) {
        found.push_back(file);
      }
    }
    return found;
  }

  void Flip(const Path& path, size_t at, char bits = 1) {
    std::string bytes = fs->Content(path);
    ASSERT_LT(at, bytes.size());
    bytes[at] ^= bits;
    fs->SetContent(path, bytes);
  }
  void Remove(const Path& path) {
    ASSERT_TRUE(fs->Remove(path).ok());
    ASSERT_TRUE(fs->SyncDir(path.parent_path()).ok());
  }
  void RemoveAll(const Path& path) {
    for (const Path& file : Files(path)) Remove(file);
  }

  std::vector<Handle> handles;  // of "pending0" and on
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_DAMAGED_STORE_H_
