#include "storage/read_window.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/random.h"

namespace hourglass {
namespace {

// A file as the window's owners read it.
class WindowedFile {
 public:
  WindowedFile(std::string content, size_t bytes_min)
      : content_(std::move(content)), window_(bytes_min) {}

  std::string_view View(uint64_t offset, size_t bytes) {
    if (!window_.Has(offset, bytes)) {
      const ReadWindow::Gap gap = window_.MoveTo(offset, bytes);
      const size_t got = gap.offset < content_.size()
                             ? content_.copy(gap.out, gap.bytes, gap.offset)
                             : 0;
      read_ += got;
      window_.Got(got);
    }
    return window_.View(offset, bytes);
  }
  size_t read() const { return read_; }

 private:
  const std::string content_;
  ReadWindow window_;
  size_t read_ = 0;
};

std::string Digits(size_t size) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + ",";
  text.resize(size);
  return text;
}

TEST(ReadWindow, ForwardReadsEveryByteOnce) {
  const std::string content = Digits(1000);
  WindowedFile file(content, 64);
  for (size_t at = 0; at < content.size(); at += 7) {
    EXPECT_EQ(file.View(at, 30), content.substr(at, 30)) << at;
  }
  EXPECT_EQ(file.read(), content.size());
}

TEST(ReadWindow, GrowsForWhatIsLargerAndKeepsWhatItHas) {
  const std::string content = Digits(1000);
  WindowedFile file(content, 16);
  EXPECT_EQ(file.View(0, 10), content.substr(0, 10));
  EXPECT_EQ(file.View(10, 500), content.substr(10, 500));
  EXPECT_EQ(file.View(12, 3), content.substr(12, 3));
  EXPECT_EQ(file.read(), 510u);
}

TEST(ReadWindow, IsShortWhereTheFileEnds) {
  WindowedFile file("abc", 16);
  EXPECT_EQ(file.View(1, 10), "bc");
  EXPECT_EQ(file.View(3, 10), "");
}

TEST(ReadWindow, AnyPlaceInAnyOrder) {
  const std::string content = Digits(5000);
  WindowedFile file(content, 100);
  Random random(7);
  for (int i = 0; i < 5000; ++i) {
    const size_t at = random.Uniform(content.size());
    const size_t bytes = random.Uniform(300);
    ASSERT_EQ(file.View(at, bytes), content.substr(at, bytes)) << i;
  }
}

}  // namespace
}  // namespace hourglass
