#include "sampling/datasets/split_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sampling/class_names.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"

namespace flowtrain {
namespace {

constexpr std::pair<std::string_view, Split> known[] = {
    {"train", Split::training},        {"training", Split::training}, {"trainval", Split::training},
    {"val", Split::validation},        {"valid", Split::validation},  {"validate", Split::validation},
    {"validation", Split::validation}, {"dev", Split::validation},    {"eval", Split::validation},
    {"evaluation", Split::validation}, {"test", Split::test},         {"testing", Split::test}};

/// Words that do not identify the contents of a folder or a shard.
constexpr std::string_view fillers[] = {"set",    "sets",    "data",     "dataset", "image", "images", "img",
                                        "imgs",   "picture", "pictures", "photos",  "split", "splits", "shard",
                                        "shards", "part",    "parts",    "samples", "of"};

bool is_filler(std::string_view word) { return std::ranges::find(fillers, word) != std::end(fillers); }

/// Returns the split of a split's name, alone or with a filler after it: "trainset".
std::optional<Split> split_of_word(std::string_view word) {
  for (const auto& [name, split] : known)
    if (word == name || (word.starts_with(name) && is_filler(word.substr(name.size())))) return split;
  return {};
}

/// Adds a run of letters in lower case: whole if it is known, else divided before capitals that follow small letters
/// ("trainA").
void add_words(std::string_view run, std::vector<std::string>& words) {
  const auto lower = lower_case(run);
  const bool is_known = split_of_word(lower) || is_filler(lower);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const bool begins = i == 0 || (!is_known && std::islower(static_cast<unsigned char>(run[i - 1])) &&
                                   std::isupper(static_cast<unsigned char>(run[i])));
    if (begins) words.emplace_back();
    words.back() += lower[i];
  }
}

/// Returns the words in lower case. All but letters separates them; bytes beyond ASCII are letters.
std::vector<std::string> letter_words(std::string_view name) {
  std::vector<std::string> words;
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) || c >= 0x80; };
  for (auto begin = name.begin(); begin != name.end();) {
    const auto end = std::find_if_not(begin, name.end(), is_letter);
    add_words({begin, end}, words);
    begin = std::find_if(end, name.end(), is_letter);
  }
  return words;
}

using Group = std::map<Split, std::vector<std::string>>;

bool is_complete(const Group& group) { return group.size() > 1 && group.contains(Split::training); }

}  // namespace

std::optional<SplitName> split_name(std::string_view name) {
  std::set<Split> splits;
  std::string rest;
  for (const auto& word : letter_words(name)) {
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

Splits find_splits(const std::vector<std::string>& names, bool takes_groups) {
  std::map<std::string, Group> groups;  // keyed by the rest of the names
  for (const auto& name : names)
    if (const auto found = split_name(name)) groups[found->rest][found->split].push_back(name);
  const bool takes_all =
      takes_groups && std::ranges::any_of(groups, [](const auto& each) { return is_complete(each.second); });
  const bool plain = groups.contains("") && !takes_all;
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

std::optional<std::string> choose_list(const std::vector<std::string>& lists, const std::string& given,
                                       const std::string& usual, bool training) {
  const auto& wanted = given.empty() ? usual : given;
  if (std::ranges::find(lists, wanted) != lists.end()) return wanted;
  std::vector<std::string> found;
  if (given.empty()) {
    const auto splits = find_splits(lists);
    if (splits.groups <= 1)
      found = training ? splits.training : splits.validation.empty() ? splits.test : splits.validation;
    // Validation would also use data of "trainval".
    if (training && !splits.validation.empty())
      std::erase_if(found, [](const auto& name) { return lower_case(name).find("val") != name.npos; });
  } else {
    std::ranges::copy_if(lists, std::back_inserter(found),
                         [&](const auto& name) { return lower_case(name) == lower_case(given); });
  }
  if (found.size() != 1) return {};
  return found.front();
}

std::vector<std::string> notes_on_lists(const std::vector<std::string>& lists,
                                        const std::function<std::size_t(const std::string&)>& size_of) {
  const auto splits = find_splits(lists);
  if (splits.test.empty()) return {};
  const auto names = join(splits.test, ", ", [&](const auto& name) {
    return concat("the list ", as_utf8(name), size_of ? concat(" (", size_of(name), " samples)") : "");
  });
  if (splits.validation.empty()) return {note_on_test(names)};
  return {concat("test data: ", names, "; the run does not use it, `flowtrain test` does if data.test.split names it")};
}

std::string note_on_test(const std::string& what) {
  return concat("there is no validation split, so the test data choose the best snapshot: ", what,
                "; data.val_share = 0.1 splits the training data instead");
}

std::string note_on_unused(const char* what, const std::vector<std::string>& names) {
  return concat("not used: the ", what, " ", listed_classes(names));
}

namespace {

constexpr std::string_view list_beginning = "val_share-", list_ending = ".tsv";

}  // namespace

std::string name_of_held_out_list(const std::string& share, std::string split) {
  std::ranges::replace(split, '/', '_');
  return concat(list_beginning, share, split.empty() ? "" : "-" + split, list_ending);
}

bool is_held_out_list(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // + 0 without a slash
  const auto at = name.rfind(list_beginning);
  return at != name.npos && (at == 0 || name[at - 1] == '.') && name.ends_with(list_ending);
}

Key split_names_key() {
  Key key{"split_names", Kind::text, "auto",
          "use of names such as train, valid or test as splits: auto refuses such a name if it may also be that of a "
          "class; use takes them as splits, and leaves out all other names; ignore treats them like all "
          "other names"};
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
                            ".split_names = \"ignore\" if these are names like all others, or \"use\" "
                            "if they are splits; or name one of them in " +
                            table + ".split");
}

std::optional<SplitChoice> choose_split(const std::vector<std::string>& names, const std::string& folder,
                                        const char* what, const Settings& settings, bool training, bool takes_groups) {
  const auto mode = split_names_of(settings);
  if (mode == SplitNames::ignore) return {};
  const auto splits = find_splits(names, takes_groups);
  if (!splits.any()) return {};
  const auto& measured = splits.validation.empty() ? splits.test : splits.validation;
  const auto& found = splits.training.empty() ? measured : splits.training;
  if (!splits.is_complete() && !splits.others.empty() && mode == SplitNames::decide)
    throw unclear_split(settings, concat(folder, ": ", listed_classes(found), " may be a split, or data like ",
                                         listed_classes(splits.others)));
  if (!splits.is_complete()) return SplitChoice{found};
  SplitChoice choice{training ? splits.training : measured, true};
  if (!training) return choice;
  if (splits.validation.empty())
    choice.notes.push_back(note_on_test(concat("the ", what, " ", listed_classes(splits.test))));
  else if (!splits.test.empty())
    choice.notes.push_back(concat("test data: the ", what, " ", listed_classes(splits.test),
                                  "; the run does not use them, `flowtrain test` does if data.test.split names them"));
  if (!splits.others.empty()) choice.notes.push_back(note_on_unused(what, splits.others));
  return choice;
}

}  // namespace flowtrain
