#include "broker/program/terminal.h"

#include <gtest/gtest.h>

namespace hourglass {
namespace {

TEST(TerminalTest, TablesLineUp) {
  Table table({{"TOPIC"}, {"N", Align::kRight}, {"BODY"}});
  table.Add({"grüße", "5", "x"});
  table.Add({"a", "1,000", "yy"});
  EXPECT_EQ(table.ToString(),
            "TOPIC      N  BODY\n"
            "grüße      5  x\n"
            "a      1,000  yy\n");
}

TEST(TerminalTest, Bars) {
  EXPECT_EQ(Bar(0, 10, 4), "");
  EXPECT_EQ(Bar(10, 10, 4), "████");
  EXPECT_EQ(Bar(5, 10, 4), "██");
  EXPECT_EQ(Bar(1, 1'000'000, 4), "▏");  // little is not nothing
  EXPECT_EQ(Bar(3, 8, 1), "▍");
}

TEST(TerminalTest, Numbers) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(3'355'443), "3.2 MiB");
  EXPECT_EQ(FormatBytes((1u << 20) - 1), "1.0 MiB");
}

TEST(TerminalTest, NothingMovesTheCursor) {
  EXPECT_EQ(Printable("a\033[2Jb\n", 10), "a.[2Jb.");
  EXPECT_EQ(Printable("\xFFz", 10), ".z");
  EXPECT_EQ(Printable("grüße aus", 5), "grüß…");
  EXPECT_EQ(Printable("grüße", 5), "grüße");
}

}  // namespace
}  // namespace hourglass
