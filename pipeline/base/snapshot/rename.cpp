#include "pipeline/base/snapshot/rename.h"

#include <set>

#include "sampling/core/error.h"
#include "sampling/core/pattern.h"

namespace flowtrain {
namespace {

constexpr std::string_view arrow = " -> ";

// The first repository calls hourglasses key points and offsets regressions, and has no module around the backbone.
const std::vector<std::string> cornernet_rules = {
    R"(^kps\. -> hg.hgs.)", R"(^(pre|cnvs|inters|inters_|cnvs_)\. -> hg.$1.)", R"(^(tl|br)_cnvs\. -> $1_modules.)",
    R"(^(tl|br)_regrs\. -> $1_offs.)"};

/// Returns the result of `use`; an error of a pattern is reported at `rule`.
template <class Use>
auto naming(const std::string& rule, const Use& use) {
  try {
    return use();
  } catch (const PatternError& error) {
    throw UserError(ExitCode::usage, "'" + rule + "': " + error.what(),
                    "write it as in Python and Perl: ^(tl|br)_heats\\.");
  }
}

}  // namespace

struct Renaming::Rules {
  struct Rule {
    std::string text;  ///< original text
    Pattern pattern;
    std::string by = {};
  };
  std::vector<Rule> drop, changes;

  void add(const std::string& rule) {
    const auto at = rule.find(arrow);
    if (at == std::string::npos)
      throw UserError(ExitCode::usage, "'" + rule + "': no rule for names",
                      "write \"PATTERN -> TEXT\", or \"cornernet\" for the names of the first CornerNet");
    changes.push_back(naming(rule, [&] {
      return Rule{rule, Pattern(rule.substr(0, at)), rule.substr(at + arrow.size())};
    }));
  }
};

Renaming::Renaming(const std::vector<std::string>& drop, const std::vector<std::string>& rename) {
  auto rules = std::make_unique<Rules>();
  for (auto& text : drop) rules->drop.push_back(naming(text, [&] { return Rules::Rule{text, Pattern(text)}; }));
  for (auto& text : rename) {
    if (text != "cornernet")
      rules->add(text);
    else
      for (auto& each : cornernet_rules) rules->add(each);
  }
  rules_ = std::move(rules);
}

Renaming::~Renaming() = default;

std::string Renaming::renamed(std::string name) const {
  for (auto& rule : rules_->changes) name = naming(rule.text, [&] { return rule.pattern.replaced(name, rule.by); });
  return name;
}

std::vector<TensorView> Renaming::operator()(std::span<const TensorView> tensors) const {
  std::vector<TensorView> left;
  std::set<std::string> names, used;
  for (auto tensor : tensors) {
    tensor.name = renamed(std::move(tensor.name));
    bool dropped = false;
    for (auto& rule : rules_->drop) {
      if (!naming(rule.text, [&] { return rule.pattern.found_in(tensor.name); })) continue;
      used.insert(rule.text);
      dropped = true;
    }
    if (dropped) continue;
    if (!names.insert(tensor.name).second)
      throw UserError(ExitCode::usage, "two tensors get the name '" + tensor.name + "'");
    left.push_back(std::move(tensor));
  }
  for (auto& rule : rules_->drop)
    if (!used.contains(rule.text))
      throw UserError(ExitCode::usage, "'" + rule.text + "': no tensor has such a name",
                      "leave it out to load all tensors");
  return left;
}

}  // namespace flowtrain
