#include "sampling/datasets/split_names.h"

#include <doctest/doctest.h>

namespace flowtrain::split_names_test {
namespace {

using Texts = std::vector<std::string>;

TEST_CASE("names of splits are told in any case, with the words that people put beside them") {
  for (const char* name : {"train", "Train", "TRAINING", "train_set", "trainset", "train2017", "Train-Data", "trainval",
                           "train_val", "01_train", "training images", "tRaIn", "TRAINset"}) {
    CAPTURE(name);
    REQUIRE(split_name(name));
    CHECK(split_name(name)->split == Split::training);
    CHECK(split_name(name)->rest.empty());
  }
  for (const char* name : {"val", "VALID", "validation", "dev", "val2017", "validation_set", "eval"})
    CHECK(usual_split(name) == "val");
  for (const char* name : {"test", "Testing", "test_images", "test1", "TestSet"}) CHECK(usual_split(name) == "test");
  for (const char* name : {"trains", "cat", "validity", "contest", "strain", "testament", "train_test", "2017", ""})
    CHECK_FALSE(split_name(name));
  CHECK(split_name("seg_train")->rest == "seg");
  CHECK(split_name("imagenet-train-000017")->rest == "imagenet");
  CHECK(usual_split("seg_train") == "seg_train");
  for (const char* name : {"trainA", "TestA", "valA"}) CHECK(split_name(name)->rest == "a");
}

TEST_CASE("names with other words are splits where their group has training and something to measure on") {
  const auto seg = find_splits({"seg_pred", "seg_test", "seg_train"});
  CHECK(seg.training == Texts{"seg_train"});
  CHECK(seg.test == Texts{"seg_test"});
  CHECK(seg.others == Texts{"seg_pred"});
  CHECK(seg.is_complete());
  CHECK_FALSE(find_splits({"freight_train", "bus", "road_test"}).any());
  const auto plain = find_splits({"Test", "Train", "seg_test", "seg_train"});
  CHECK(plain.training == Texts{"Train"});
  CHECK(plain.others == Texts{"seg_test", "seg_train"});
  CHECK(find_splits({"cat_test", "cat_train", "dog_test", "dog_train"}).groups == 2);
  const auto classes = find_splits({"bus", "car", "train", "truck"});
  CHECK(classes.any());
  CHECK_FALSE(classes.is_complete());
}

TEST_CASE("of names of tensors all groups are splits that have training and something to measure on") {
  const Texts names{"test_images", "test_labels", "train_images", "train_labels", "weights"};
  const auto both = find_splits(names, true);
  CHECK(both.training == Texts{"train_images", "train_labels"});
  CHECK(both.test == Texts{"test_images", "test_labels"});
  CHECK(both.others == Texts{"weights"});
  CHECK(find_splits(names).training == Texts{"train_images"});
  CHECK(find_splits({"train", "x_test", "x_train"}, true).training == Texts{"x_train"});
  CHECK(find_splits({"test_scores", "train"}, true).training == Texts{"train"});
}

TEST_CASE("the list of what is held out is told from data by its name") {
  CHECK(name_of_held_out_list("0.1", "") == "val_share-0.1.tsv");
  CHECK(name_of_held_out_list("0.25", "a/train") == "val_share-0.25-a_train.tsv");
  for (const char* list : {"val_share-0.1.tsv", "train.jsonl.val_share-0.1.tsv", "sub/val_share-0.1-train.tsv"})
    CHECK(is_held_out_list(list));
  for (const char* other : {"val_share.tsv", "val_share-0.1.csv", "interval_share-1.tsv", "train.tsv"})
    CHECK_FALSE(is_held_out_list(other));
}

TEST_CASE("a list is chosen by the name that is given, by its usual one, or as the only one of its split") {
  const Texts lists{"Test", "Train", "trainval", "val2"};
  CHECK(choose_list(lists, "test", "train", true) == "Test");
  CHECK(choose_list(lists, "", "trainval", true) == "trainval");
  CHECK(choose_list(lists, "", "train", true) == "Train");
  CHECK(choose_list(lists, "", "val", false) == "val2");
  CHECK(choose_list({"Test", "train"}, "", "val", false) == "Test");
  CHECK_FALSE(choose_list(lists, "tests", "train", true));
  CHECK_FALSE(choose_list({"val", "valid"}, "", "val2017", false));
  CHECK_FALSE(choose_list({"a_train", "a_val", "b_train", "b_val"}, "", "train", true));
  CHECK_FALSE(choose_list({"trainval", "val"}, "", "train", true));
}

}  // namespace
}  // namespace flowtrain::split_names_test
