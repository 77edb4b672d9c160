#include "pipeline/launch/hostlist.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::size_t kMostHosts = 1'000'000;
constexpr std::size_t kMostDigits = 9;  // a number of so many fits into 32 bits

[[noreturn]] void refuse(std::string_view list, const std::string& what) {
  throw UserError(Exit::distributed, "the node list \"" + std::string(list.substr(0, 200)) + "\" " + what,
                  "Check SLURM_STEP_NODELIST and SLURM_JOB_NODELIST, or give --dist-url and --launcher none.");
}

[[noreturn]] void refuse_tasks(const std::string& list, const std::string& what) {
  throw UserError(Exit::distributed, "the list of tasks per node \"" + list.substr(0, 200) + "\" " + what,
                  "Check SLURM_STEP_TASKS_PER_NODE and SLURM_TASKS_PER_NODE, or give --launcher none.");
}

std::optional<std::uint32_t> to_number(std::string_view digits) {
  std::uint32_t number = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || stop != digits.data() + digits.size() || digits.size() > kMostDigits) return {};
  return number;
}

// Splits at the commas outside brackets.
std::vector<std::string_view> split_names(std::string_view list) {
  std::vector<std::string_view> names;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if ((c == '[' && inside) || (c == ']' && !inside) || (inside && i == list.size())) {
      refuse(list, "has unbalanced brackets");
    }
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (c != ',' || inside) continue;
    if (i == start) refuse(list, "has an empty name");
    names.push_back(list.substr(start, i - start));
    start = i + 1;
  }
  return names;
}

// "01-03,07" to 01, 02, 03, 07.
std::vector<std::string> expand_ranges(std::string_view list, std::string_view ranges) {
  std::vector<std::string> numbers;
  for (std::size_t start = 0; start <= ranges.size();) {
    const auto comma = std::min(ranges.find(',', start), ranges.size());
    const std::string_view range = ranges.substr(start, comma - start);
    const auto dash = range.find('-');
    const std::string_view first_digits = range.substr(0, dash);
    const auto first = to_number(first_digits);
    const auto last = dash == range.npos ? first : to_number(range.substr(dash + 1));
    if (!first || !last) refuse(list, "has \"" + std::string(range) + "\", which is no range of numbers");
    if (*last < *first) refuse(list, "has the reversed range \"" + std::string(range) + "\"");
    if (numbers.size() + (*last - *first) >= kMostHosts) refuse(list, "has more than a million hosts");
    for (auto number = *first; number <= *last; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < first_digits.size()) digits.insert(0, first_digits.size() - digits.size(), '0');
      numbers.push_back(std::move(digits));
    }
    start = comma + 1;
  }
  return numbers;
}

// One name with any number of brackets; the last one counts fastest.
std::vector<std::string> expand_name(std::string_view list, std::string_view name, std::size_t room) {
  std::vector<std::string> hosts = {""};
  while (!name.empty()) {
    const auto open = std::min(name.find('['), name.size());
    for (auto& host : hosts) host += name.substr(0, open);
    if (open == name.size()) break;
    const auto close = name.find(']', open);
    const auto numbers = expand_ranges(list, name.substr(open + 1, close - open - 1));
    if (hosts.size() * numbers.size() > room) refuse(list, "has more than a million hosts");
    std::vector<std::string> longer;
    longer.reserve(hosts.size() * numbers.size());
    for (const auto& host : hosts) {
      for (const auto& number : numbers) longer.push_back(host + number);
    }
    hosts = std::move(longer);
    name.remove_prefix(close + 1);
  }
  return hosts;
}

}  // namespace

std::vector<std::string> expand_hostlist(const std::string& list) {
  std::vector<std::string> hosts;
  for (auto name : split_names(list)) {
    if (hosts.size() >= kMostHosts) refuse(list, "has more than a million hosts");
    for (auto& host : expand_name(list, name, kMostHosts - hosts.size())) hosts.push_back(std::move(host));
  }
  return hosts;
}

int tasks_on_node(const std::string& list, int node) {
  std::uint64_t nodes_so_far = 0;
  for (std::size_t start = 0; start <= list.size();) {
    const auto comma = std::min(list.find(',', start), list.size());
    std::string_view part = std::string_view(list).substr(start, comma - start);
    std::optional<std::uint32_t> nodes = 1;
    if (const auto open = part.find("(x"); open != part.npos && part.ends_with(')')) {
      nodes = to_number(part.substr(open + 2, part.size() - open - 3));
      part = part.substr(0, open);
    }
    const auto tasks = to_number(part);
    if (!tasks || !nodes) refuse_tasks(list, "is not of the form 2(x3),1");
    nodes_so_far += *nodes;
    if (static_cast<std::uint64_t>(node) < nodes_so_far) return static_cast<int>(*tasks);
    start = comma + 1;
  }
  refuse_tasks(list, "has no node " + std::to_string(node));
}

}  // namespace flowtrain
