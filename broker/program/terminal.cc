#include "broker/program/terminal.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_format.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"

namespace hourglass {
namespace {

bool IsContinuation(char c) { return (c & 0xC0) == 0x80; }

void AppendCell(const std::string& cell, size_t width, Align align, bool last,
                std::string* out) {
  const std::string padding(width - DisplayWidth(cell), ' ');
  if (align == Align::kRight) out->append(padding);
  out->append(cell);
  if (align == Align::kLeft && !last) out->append(padding);
  out->append(last ? "\n" : "  ");
}

}  // namespace

void Table::Add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) {
    widths.push_back(DisplayWidth(column.title));
  }
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  std::string out;
  const size_t last = columns_.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    AppendCell(columns_[i].title, widths[i], columns_[i].align, i == last,
               &out);
  }
  for (const auto& row : rows_) {
    for (size_t i = 0; i <= last; ++i) {
      AppendCell(row[i], widths[i], columns_[i].align, i == last, &out);
    }
  }
  return out;
}

std::string Bar(uint64_t value, uint64_t value_max, int width) {
  constexpr std::array<std::string_view, 8> kEighths = {"",  "▏", "▎", "▍",
                                                        "▌", "▋", "▊", "▉"};
  if (value == 0 || value_max == 0 || width <= 0) return "";
  const double part = static_cast<double>(value) / value_max;
  const int eighths =
      std::max(1, static_cast<int>(std::min(part, 1.0) * width * 8 + 0.5));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths[eighths % 8];
  return bar;
}

std::string FormatCount(uint64_t count) {
  const std::string digits = Concat(count);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB",
                                                      "TiB", "PiB"};
  if (bytes < 1024) return Concat(bytes, " B");
  double value = bytes / 1024.0;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

size_t DisplayWidth(std::string_view text) {
  return text.size() - std::count_if(text.begin(), text.end(), IsContinuation);
}

std::string Printable(std::string_view text, size_t width) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(byte < 0x20 || byte == 0x7F ? '.' : c);
  }
  if (!IsValidUtf8(out)) {
    for (char& c : out) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '.';
    }
  }
  if (DisplayWidth(out) <= width) return out;
  size_t at = 0;
  for (size_t characters = 0; at < out.size(); ++at) {
    if (!IsContinuation(out[at]) && ++characters == width) break;
  }
  return Concat(out.substr(0, at), "…");
}

}  // namespace hourglass
