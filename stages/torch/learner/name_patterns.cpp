#include "stages/torch/learner/name_patterns.h"

#include <algorithm>
#include <string_view>

#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

// The length of the longest text that is in both: a pattern is seldom near a whole name.
std::size_t longest_in_both(std::string_view a, std::string_view b) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t length = 0;
      while (i + length < a.size() && j + length < b.size() && a[i + length] == b[j + length]) ++length;
      longest = std::max(longest, length);
    }
  return longest;
}

std::string most_alike(const std::string& pattern, const nets::NamedTensors& parameters) {
  std::vector<std::pair<std::size_t, std::string>> names;
  for (const auto& [name, parameter] : parameters) names.emplace_back(longest_in_both(pattern, name), name);
  std::stable_sort(names.begin(), names.end(), [](auto& a, auto& b) { return a.first > b.first; });
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) text += (i > 0 ? ", " : "") + names[i].second;
  return text;
}

}  // namespace

NamePatterns::NamePatterns(const std::vector<Settings>& tables) : tables_(tables), used_(tables.size()) {
  for (auto& table : tables) patterns_.emplace_back(table.text("params"));
}

std::vector<std::size_t> NamePatterns::matching(const std::string& name) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < patterns_.size(); ++i) try {
      if (patterns_[i].found_in(name)) found.push_back(i), used_[i] = true;
    } catch (const PatternError& error) {
      throw tables_[i].error("params", error.what());
    }
  return found;
}

void NamePatterns::check_used(const nets::NamedTensors& parameters) const {
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i])
      throw tables_[i].error("params", "matches no parameter of the net", ExitCode::usage,
                             concat("most like it are ", most_alike(tables_[i].text("params"), parameters),
                                    "; without this table `flowtrain info CONFIG` lists all"));
}

}  // namespace flowtrain
