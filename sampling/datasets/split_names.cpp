#include "sampling/datasets/split_names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"

namespace flowtrain {
namespace {

constexpr std::pair<std::string_view, Split> known[] = {
    {"train", Split::training},        {"training", Split::training}, {"trainval", Split::training},
    {"val", Split::validation},        {"valid", Split::validation},  {"validate", Split::validation},
    {"validation", Split::validation}, {"dev", Split::validation},    {"eval", Split::validation},
    {"evaluation", Split::validation}, {"test", Split::test},         {"testing", Split::test}};

/// Words that say nothing of what a folder or a shard holds.
constexpr std::string_view fillers[] = {"set",    "sets",    "data",     "dataset", "image", "images", "img",
                                        "imgs",   "picture", "pictures", "photos",  "split", "splits", "shard",
                                        "shards", "part",    "parts",    "samples", "of"};

bool is_filler(std::string_view word) { return std::ranges::find(fillers, word) != std::end(fillers); }

/// A split's name, alone or with a filler behind it: "trainset".
std::optional<Split> split_of_word(std::string_view word) {
  for (const auto& [name, split] : known)
    if (word == name || (word.starts_with(name) && is_filler(word.substr(name.size())))) return split;
  return {};
}

/// Runs of letters; all else separates words. Bytes beyond ASCII are letters.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool within = false;
  for (const unsigned char c : name) {
    const bool letter = std::isalpha(c) || c >= 0x80;
    if (letter && !within) words.emplace_back();
    if (letter) words.back() += static_cast<char>(std::tolower(c));
    within = letter;
  }
  return words;
}

using Group = std::map<Split, std::vector<std::string>>;

bool is_complete(const Group& group) { return group.size() > 1 && group.contains(Split::training); }

}  // namespace

std::optional<SplitName> split_name(std::string_view name) {
  std::set<Split> splits;
  std::string rest;
  for (const auto& word : words_of(name)) {
    if (const auto split = split_of_word(word)) {
      splits.insert(*split);
    } else if (!is_filler(word)) {
      rest += (rest.empty() ? "" : "-") + word;
    }
  }
  if (splits == std::set{Split::training, Split::validation}) return SplitName{Split::training, rest};
  if (splits.size() != 1) return {};
  return SplitName{*splits.begin(), rest};
}

std::string usual_split(const std::string& name) {
  const auto found = split_name(name);
  if (!found || !found->rest.empty()) return name;
  return found->split == Split::training ? "train" : found->split == Split::validation ? "val" : "test";
}

Splits find_splits(const std::vector<std::string>& names) {
  std::map<std::string, Group> groups;  // by the rest of the names
  for (const auto& name : names)
    if (const auto found = split_name(name)) groups[found->rest][found->split].push_back(name);
  const bool plain = groups.contains("");
  std::erase_if(groups, [&](auto& each) { return plain ? !each.first.empty() : !is_complete(each.second); });
  Splits splits;
  for (auto& [rest, group] : groups) splits.groups += is_complete(group) ? 1 : 0;
  for (const auto& name : names) {
    const auto found = split_name(name);
    auto& list = !found || !groups.contains(found->rest) ? splits.others
                 : found->split == Split::training       ? splits.training
                 : found->split == Split::validation     ? splits.validation
                                                         : splits.test;
    list.push_back(name);
  }
  return splits;
}

Key split_names_key() {
  Key key{"split_names", Kind::text, "auto",
          "whether names such as train, valid or test say what is training and validation: auto stops where such a "
          "name may also be that of a class; use: they do, and what is named otherwise is left out; ignore: they are "
          "names like all others"};
  key.choices = {"auto", "use", "ignore"};
  return key;
}

SplitNames split_names_of(const Settings& settings) {
  const auto& word = settings.text("split_names");
  return word == "use" ? SplitNames::use : word == "ignore" ? SplitNames::ignore : SplitNames::decide;
}

UserError unclear_split(const Settings& settings, const std::string& message) {
  const auto& table = settings.table();
  return settings.error("path", message, ExitCode::data,
                        "set " + table +
                            ".split_names = \"ignore\" where these are names like all others, or \"use\" "
                            "where they are splits; " +
                            table + ".split names one of them");
}

}  // namespace flowtrain
