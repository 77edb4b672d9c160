#pragma once
// Finds splits by the names of folders and shards.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/settings.h"

namespace flowtrain {

enum class Split { training, validation, test };

/// The name of a split, divided into parts.
struct SplitName {
  Split split;
  std::string rest;  ///< the name's other words in lower case, one dash between two: "seg" of "seg_train"
};

/// Finds a split's usual name among the words of `name`, in any case: train, training; val, valid, validate,
/// validation, dev, eval, evaluation; test, testing. Numbers and words such as set, data and images do not count
/// ("train_set", "train2017", "TestData"). "trainval" is training. Returns nothing if there is no such word, or words
/// of two splits.
std::optional<SplitName> split_name(std::string_view name);

/// Returns the usual word, "train", "val" or "test", for a split's name in any case; other names stay as they are.
std::string usual_split(const std::string& name);

/// The names of one place, divided into splits. The lists hold the given names, in their order.
struct Splits {
  std::vector<std::string> training, validation, test, others;
  int groups = 0;  ///< number of groups that have training and validation or test data; see find_splits()

  /// Returns whether there are training data and others to measure on.
  bool is_complete() const { return !training.empty() && !(validation.empty() && test.empty()); }
  bool any() const { return !training.empty() || !validation.empty() || !test.empty(); }
};

/// Divides the names of one place. Plain names of splits ("train", "Val2017") always count. Names with other words,
/// such as "seg_train", count only if such a group ("seg_train", "seg_test") is complete, and no plain ones are. If
/// `takes_groups`, as names of tensors do ("train_images", "train_labels"), all groups that are complete count.
Splits find_splits(const std::vector<std::string>& names, bool takes_groups = false);

/// Chooses the list that a data set reads among those of splits in one place: the one that the key `split` gives, in
/// any case if no list has exactly that name; if it is empty, the `usual` name, or else the only list that is named
/// after this split, or after a test split for validation. Returns nothing if there is none.
std::optional<std::string> choose_list(const std::vector<std::string>& lists, const std::string& given,
                                       const std::string& usual, bool training);

/// Returns the notes on a training set of lists: a test split is either used for validation or not at all. `size_of`
/// (may be null) counts the samples of a list.
std::vector<std::string> notes_on_lists(const std::vector<std::string>& lists,
                                        const std::function<std::size_t(const std::string&)>& size_of);

/// Returns the note that validation uses the test data `what`.
std::string note_on_test(const std::string& what);
/// Returns the note that the names of files, folders or tensors (`what`) are not used.
std::string note_on_unused(const char* what, const std::vector<std::string>& names);

/// Returns the name of the list beside the data that keeps which samples data.val_share = `share` holds out of `split`:
/// "val_share-0.1.tsv". That of a single file follows its name and a dot.
std::string name_of_held_out_list(const std::string& share, std::string split);
/// Returns whether a file has such a name: then it is no data.
bool is_held_out_list(std::string_view name);

/// Makes the key `split_names` of data sets whose folders or shards may be named after splits.
Key split_names_key();

/// The value of the key `split_names`.
enum class SplitNames { decide, use, ignore };
SplitNames split_names_of(const Settings& settings);

/// Makes the error for names that may or may not be splits; `message` lists them.
UserError unclear_split(const Settings& settings, const std::string& message);

/// The names that one side (training or validation) uses, of folders, files or tensors that may be named after splits.
struct SplitChoice {
  std::vector<std::string> names;
  bool has_split = false;               ///< training and validation have names of their own
  std::vector<std::string> notes = {};  ///< sentences on names that are not used
};

/// Chooses among the names of one place, `folder`, by find_splits() and the key `split_names`; `what` says in notes
/// what they name: "folders". Returns nothing if they are no splits: then all data are one set. Throws unclear_split().
std::optional<SplitChoice> choose_split(const std::vector<std::string>& names, const std::string& folder,
                                        const char* what, const Settings& settings, bool training,
                                        bool takes_groups = false);

}  // namespace flowtrain
