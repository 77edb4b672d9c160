#pragma once
// Names of folders and shards that say which split they are.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/settings.h"

namespace flowtrain {

enum class Split { training, validation, test };

/// The name of a split, taken apart.
struct SplitName {
  Split split;
  std::string rest;  ///< the name's other words in lower case, one dash between two: "seg" of "seg_train"
};

/// Finds a split's usual name among the words of `name`, in any case: train, training; val, valid, validate,
/// validation, dev, eval, evaluation; test, testing. Numbers and words such as set, data and images say nothing
/// ("train_set", "train2017", "TestData"). "trainval" is training. Nothing where there is no such word, or words of two
/// splits.
std::optional<SplitName> split_name(std::string_view name);

/// The usual word, "train", "val" or "test", for a split's name in any case; other names stay as they are.
std::string usual_split(const std::string& name);

/// Names that lie side by side, divided into splits. Names in the lists are those given, in their order.
struct Splits {
  std::vector<std::string> training, validation, test, others;
  int groups = 0;  ///< that have training and validation or test data; see find_splits()

  /// Whether training data and others to measure on are there.
  bool is_complete() const { return !training.empty() && !(validation.empty() && test.empty()); }
  bool any() const { return !training.empty() || !validation.empty() || !test.empty(); }
};

/// Divides names of one place. Plain names of splits ("train", "Val2017") count always. Names with other words, as
/// "seg_train", count only where such a group of names ("seg_train", "seg_test") is complete, and no plain ones are.
Splits find_splits(const std::vector<std::string>& names);

/// The name among those of `lists` of splits, which lie side by side, that a data set reads: what the key `split`
/// gives, in any case where no list is called exactly so; where that is empty the `usual` name, or else the only list
/// that is named after this split, and to validate, that of a test split. Nothing where there is none.
std::optional<std::string> choose_list(const std::vector<std::string>& lists, const std::string& given,
                                       const std::string& usual, bool training);

/// The notes of a data set of lists, for training: on a test split, which either validates or is not used. `size_of`
/// (may be null) counts the samples of a list.
std::vector<std::string> notes_on_lists(const std::vector<std::string>& lists,
                                        const std::function<std::size_t(const std::string&)>& size_of);

/// The note that the test data `what` are validated with.
std::string note_on_test(const std::string& what);

/// The key `split_names` of data sets whose folders or shards may be named after splits.
Key split_names_key();

/// The value of the key `split_names`.
enum class SplitNames { decide, use, ignore };
SplitNames split_names_of(const Settings& settings);

/// The error for names of which it cannot be told whether they are splits: `message` says what is there.
UserError unclear_split(const Settings& settings, const std::string& message);

}  // namespace flowtrain
