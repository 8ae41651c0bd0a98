// File: terminal.h
//
// Text for people: columns that line up, bars, counts and sizes.
//
//   Table table({{"TOPIC"}, {"BYTES", Align::kRight}});
//   table.Add({"orders", FormatBytes(2048)});
//   std::string text = table.ToString();
//
// Widths count characters, not bytes; wide characters of East Asian scripts
// count as one.
//
// Serves promise 5: output that people can read.
#ifndef HOURGLASS_BROKER_PROGRAM_TERMINAL_H_
#define HOURGLASS_BROKER_PROGRAM_TERMINAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hourglass {

enum class Align { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Precondition: as many cells as columns.
  void Add(std::vector<std::string> cells);
  // The titles, then a line a row.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// A bar of value/value_max of `width` characters, in eighths of one. Never
// empty unless `value` is 0.
std::string Bar(uint64_t value, uint64_t value_max, int width);

std::string FormatCount(uint64_t count);  // "1,234,567"
std::string FormatBytes(uint64_t bytes);  // "512 B", "3.2 MiB"

// Characters of `text` on a terminal.
size_t DisplayWidth(std::string_view text);
// `text` without what would move the cursor, cut to `width` characters.
std::string Printable(std::string_view text, size_t width);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_TERMINAL_H_
