#include "sampling/core/pattern.h"

#include <doctest/doctest.h>

namespace flowtrain::pattern_test {

using flowtrain::Pattern;
using flowtrain::PatternError;

namespace {

/// What the error says; empty where there is none.
template <class Use>
std::string error_of(const Use& use) {
  try {
    use();
  } catch (const PatternError& error) {
    return error.what();
  }
  return "";
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("patterns are found anywhere in a name") {
  CHECK(Pattern("").found_in("fc.weight"));
  CHECK(Pattern("^(conv1|layer[34])\\.").found_in("layer3.0.bn1.bias"));
  CHECK_FALSE(Pattern("^(conv1|layer[34])\\.").found_in("layer2.0.conv1.weight"));
  CHECK(Pattern("bias$").found_in("fc.bias"));
  CHECK_FALSE(Pattern("bias$").found_in("fc.bias\n"));
  CHECK(Pattern("^(?!fc\\.)").found_in("conv1.weight"));
  CHECK_FALSE(Pattern("^(?!fc\\.)").found_in("fc.weight"));
  CHECK(Pattern("^gr..e$").found_in("gröe"));  // bytes: the o with dots is two
  CHECK(Pattern("a").found_in(std::string("\xff\0a", 3)));
}

TEST_CASE("what matches is replaced") {
  CHECK(Pattern("^a").replaced("b.a", "c") == "b.a");
  CHECK(Pattern("a").replaced("a.b.a", "cc") == "cc.b.cc");
  CHECK(Pattern("^(tl|br)_cnvs\\.").replaced("tl_cnvs.0", "$1_modules.") == "tl_modules.0");
  CHECK(Pattern("(x)|b").replaced("b", "[$1$0]") == "[b]");
  CHECK(Pattern("b").replaced("b", std::string(1000, 'x')) == std::string(1000, 'x'));
  CHECK(Pattern("").replaced(std::string(200, 'a'), "12345") == repeated("12345a", 200) + "12345");
  CHECK(error_of([] { Pattern("a").replaced("a", "$2"); }) == "cannot be used on 'a': unknown substring");
  CHECK(error_of([] { Pattern("a").replaced("a", "$"); }).starts_with("cannot be used on 'a': "));
}

TEST_CASE("hostile patterns are refused, in bounded time and memory") {
  CHECK(error_of([] { Pattern("a(b"); }) == "not a regular expression: missing closing parenthesis (at character 4)");
  CHECK(error_of([] { Pattern("\\" + std::string(40, '7')); }).starts_with("not a regular expression: "));
  CHECK(error_of([] { Pattern(repeated("(", 500) + repeated(")", 500)); }).starts_with("not a regular expression: "));
  CHECK(
      error_of([] { Pattern("((((a{1,9999}){1,9999}){1,9999}){1,9999})"); }).starts_with("not a regular expression: "));
  CHECK(error_of([] { Pattern(std::string(1001, 'a')); }) == "a regular expression has more than 1000 characters");
  const std::string name = std::string(60, 'a') + "!";
  CHECK(error_of([&] { Pattern("(a|aa|a?)+$").found_in(name); }) ==
        "takes more than 100000 steps to search '" + name + "'");
  CHECK(error_of([&] { Pattern("(a|aa|a?)+$").replaced(name, "b"); }) ==
        "takes more than 100000 steps to search '" + name + "'");
  CHECK(Pattern("^(.|\\n)*$").found_in(std::string(20'000, 'a')));  // no recursion on the stack
}

}  // namespace flowtrain::pattern_test
