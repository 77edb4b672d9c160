#include "pipeline/snapshot/rename.h"

#include <regex>
#include <set>

#include "sampling/error.h"

namespace flowtrain {
namespace {

constexpr std::string_view arrow = " -> ";

// The first repository calls hourglasses key points and offsets regressions, and has no module around the backbone.
const std::vector<std::string> cornernet_rules = {
    R"(^kps\. -> hg.hgs.)", R"(^(pre|cnvs|inters|inters_|cnvs_)\. -> hg.$1.)", R"(^(tl|br)_cnvs\. -> $1_modules.)",
    R"(^(tl|br)_regrs\. -> $1_offs.)"};

std::regex pattern(const std::string& text, const std::string& rule) {
  try {
    return std::regex(text, std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw UserError(Exit::usage, "'" + rule + "': not a regular expression: " + error.what(),
                    "as JavaScript writes them: ^(tl|br)_heats\\.");
  }
}

}  // namespace

struct Renaming::Rules {
  struct Change {
    std::regex from;
    std::string to;
  };
  std::vector<std::pair<std::string, std::regex>> drop;
  std::vector<Change> changes;

  void add(const std::string& rule) {
    const auto at = rule.find(arrow);
    if (at == std::string::npos)
      throw UserError(Exit::usage, "'" + rule + "': no rule for names",
                      "write \"PATTERN -> TEXT\", or \"cornernet\" for the names of the first CornerNet");
    changes.push_back({pattern(rule.substr(0, at), rule), rule.substr(at + arrow.size())});
  }
};

Renaming::Renaming(const std::vector<std::string>& drop, const std::vector<std::string>& rename) {
  auto rules = std::make_unique<Rules>();
  for (auto& text : drop) rules->drop.emplace_back(text, pattern(text, text));
  for (auto& text : rename) {
    if (text != "cornernet") rules->add(text);
    else
      for (auto& each : cornernet_rules) rules->add(each);
  }
  rules_ = std::move(rules);
}

Renaming::~Renaming() = default;

std::vector<TensorView> Renaming::operator()(std::span<const TensorView> tensors) const {
  std::vector<TensorView> left;
  std::set<std::string> names, used;
  for (auto tensor : tensors) {
    for (auto& each : rules_->changes) tensor.name = std::regex_replace(tensor.name, each.from, each.to);
    bool dropped = false;
    for (auto& [text, regex] : rules_->drop) {
      if (!std::regex_search(tensor.name, regex)) continue;
      used.insert(text);
      dropped = true;
    }
    if (dropped) continue;
    if (!names.insert(tensor.name).second) throw UserError(Exit::usage, "two tensors come to the name '" + tensor.name + "'");
    left.push_back(std::move(tensor));
  }
  for (auto& [text, regex] : rules_->drop)
    if (!used.contains(text))
      throw UserError(Exit::usage, "'" + text + "': no tensor has such a name", "without it all are taken");
  return left;
}

}  // namespace flowtrain
