#include "pipeline/launch/hostlist.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

[[noreturn]] void refuse_hosts(const std::string& list) {
  throw UserError(ExitCode::distributed, "the node list \"" + list.substr(0, 200) + "\" names no first host",
                  "Check SLURM_STEP_NODELIST and SLURM_JOB_NODELIST, or give --dist-url and --launcher none.");
}

[[noreturn]] void refuse_tasks(const std::string& list, const std::string& what) {
  throw UserError(ExitCode::distributed, "the list of tasks per node \"" + list.substr(0, 200) + "\" " + what,
                  "Check SLURM_STEP_TASKS_PER_NODE and SLURM_TASKS_PER_NODE, or give --launcher none.");
}

std::optional<std::uint32_t> to_number(std::string_view digits) {
  std::uint32_t number = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || stop != digits.data() + digits.size()) return {};
  return number;
}

}  // namespace

std::string first_host(const std::string& list) {
  std::string host;
  for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const std::string number = list.substr(at + 1, list.find_first_of(",-]", at) - at - 1);
    at = list.find(']', at);
    if (at == list.npos || !to_number(number)) refuse_hosts(list);
    host += number;
  }
  if (host.empty() || host.find(']') != host.npos) refuse_hosts(list);
  return host;
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
