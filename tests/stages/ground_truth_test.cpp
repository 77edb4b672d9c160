// Data sets provide the objects to find.

#include "stages/evaluation/ground_truth.h"

#include <doctest/doctest.h>

#include "sampling/datasets/entries.h"
#include "sampling/datasets/relabelled_dataset.h"
#include "stages/evaluation/coco_eval.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::ground_truth_test {
namespace {

/// Every record with its boxes.
std::vector<ImageResult> image_results_of(const Dataset& dataset) {
  std::vector<ImageResult> image_results;
  ReadBuffer buffer;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    const auto boxes = dataset.read(id, buffer).boxes;
    image_results.push_back({id, {boxes.begin(), boxes.end()}, {}});
  }
  return image_results;
}

TEST_CASE("ground truth: shapes are found where their boxes are") {
  const auto entry = shapes_entry();
  const auto set = entry.make(settings_for(entry.keys, {{"objects", 5}, {"size", 128}, {"samples", 50}}), {});
  auto image_results = image_results_of(*set);
  for (auto& image_result : image_results)
    for (const auto& box : image_result.boxes)
      image_result.found.push_back({box.x0, box.y0, box.x1, box.y1, 1, box.label});
  const auto truth = ground_truth(*set, image_results);
  CHECK(truth.images.size() == 50);
  CHECK(truth.categories.size() == 6);
  CHECK(truth.categories[1].name == "square");
  CHECK(truth.objects.size() > 150);
  for (const auto& each : truth.objects) {
    CHECK(each.area == each.width * each.height);
    CHECK(!each.ignore);
  }
  const auto found = found_objects(truth, image_results);
  CHECK(found.size() == truth.objects.size());
  CHECK(coco_evaluate(truth, found, 2).all.ap == doctest::Approx(1));
  CHECK(ground_truth(*set, std::span(image_results).first(10)).images.size() == 10);
}

TEST_CASE("ground truth: COCO's ids stay where the net has more classes than the file") {
  const TempFolder temp;
  temp.write("annotations/instances_val2017.json",
             R"({"images": [{"id": 70, "file_name": "a"}],
                 "categories": [{"id": 0, "name": "emu"}, {"id": 17, "name": "cat"}],
                 "annotations": [{"id": 1, "image_id": 70, "category_id": 17, "bbox": [1, 2, 3, 4]},
                                 {"id": 2, "image_id": 70, "category_id": 0, "bbox": [5, 6, 3, 4]}]})");
  temp.write("val2017/a", "");
  const auto entry = coco_entry();
  // Of the file emu is class 0, cat class 1; the net's classes are bee, cat, dog, emu.
  const auto set = std::make_unique<RelabelledDataset>(
      entry.make(settings_for(entry.keys, {{"path", temp.path().string()}}), {false}),
      std::vector<std::string>{"bee", "cat", "dog", "emu"}, std::vector<std::int32_t>{3, 1});
  auto image_results = image_results_of(*set);
  REQUIRE(image_results.size() == 1);
  REQUIRE(image_results[0].boxes.size() == 2);
  for (const auto& box : image_results[0].boxes) {
    CHECK(box.label == (box.x0 == 1 ? 1 : 3));
    image_results[0].found.push_back({box.x0, box.y0, box.x1, box.y1, 1, box.label});
  }
  const auto truth = ground_truth(*set, image_results);
  CHECK(truth.images == std::vector<std::int64_t>{70});
  REQUIRE(truth.categories.size() == 4);
  CHECK(truth.categories[1].id == 17);
  CHECK(truth.categories[3].id == 0);
  CHECK(truth.categories[2].name == "dog");
  const auto found = found_objects(truth, image_results);
  CHECK(coco_evaluate(truth, found, 1).all.ap == doctest::Approx(1));
}

TEST_CASE("ground truth: COCO's ids, crowds and areas, of the pictures that are records") {
  const TempFolder temp;
  temp.write("annotations/instances_val2017.json",
             R"({"images": [{"id": 70, "file_name": "a"}, {"id": 30, "file_name": "b"}, {"id": 50, "file_name": "c"}],
                 "categories": [{"id": 18, "name": "dog"}, {"id": 17, "name": "cat"}],
                 "annotations": [
                   {"id": 1, "image_id": 50, "category_id": 18, "bbox": [1, 2, 3, 4], "area": 7.5, "iscrowd": 0},
                   {"id": 2, "image_id": 30, "category_id": 17, "bbox": [1, 2, 3, 4], "area": 7, "iscrowd": 1},
                   {"id": 3, "image_id": 50, "category_id": 17, "bbox": [1, 2, 3, 4], "area": 7, "iscrowd": 1}]})");
  for (const std::string name : {"a", "b", "c"}) temp.write("val2017/" + name, "");
  const auto entry = coco_entry();
  const auto open = [&](const std::string& empty) {
    const std::vector<std::pair<std::string, Value>> values{
        {"path", temp.path().string()}, {"crowd", std::string("drop")}, {"empty", empty}};
    return entry.make(settings_for(entry.keys, values), {.training = false});
  };
  const auto whole = open("keep"), annotated = open("drop");
  auto image_results = image_results_of(*whole);
  const auto all = ground_truth(*whole, image_results);
  CHECK(all.images == std::vector<std::int64_t>{70, 30, 50});
  CHECK(all.categories[0].id == 17);
  REQUIRE(all.objects.size() == 3);
  CHECK(all.objects[0].category_id == 18);
  CHECK(all.objects[0].area == 7.5);
  CHECK(all.objects[1].ignore);
  image_results[1].found = {{1, 2, 4, 6, 0.5F, 1}};
  const auto found = found_objects(all, image_results);
  REQUIRE(found.size() == 1);
  CHECK(found[0].image_id == 30);
  CHECK(found[0].category_id == 18);
  CHECK(found[0].width == 3);
  CHECK(found[0].height == 4);
  const auto some = ground_truth(*whole, std::span(image_results).last(1));
  CHECK(some.images == std::vector<std::int64_t>{50});
  CHECK(some.objects.size() == 2);
  const auto full = ground_truth(*annotated, image_results_of(*annotated));
  CHECK(full.images == std::vector<std::int64_t>{50});
  REQUIRE(full.objects.size() == 2);
  CHECK(full.objects[1].ignore);
}

TEST_CASE("ground truth: difficult objects of VOC need not be found") {
  const TempFolder temp;
  const std::string box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>5</ymax></bndbox></object>";
  temp.write("Annotations/one.xml", "<annotation><object><name>a</name><difficult>1</difficult>" + box +
                                        "<object><name>a</name>" + box + "</annotation>");
  temp.write("Annotations/two.xml", "<annotation><object><name>a</name>" + box + "</annotation>");
  for (const std::string name : {"one", "two"}) temp.write("JPEGImages/" + name + ".jpg", "");
  temp.write("ImageSets/Main/val.txt", "one\ntwo\n");
  const auto entry = voc_entry();
  const auto set = entry.make(settings_for(entry.keys, {{"path", temp.path().string()}}), {.training = false});
  const auto truth = ground_truth(*set, image_results_of(*set));
  CHECK(truth.images.size() == 2);
  REQUIRE(truth.objects.size() == 3);
  CHECK(truth.objects[0].ignore);
  CHECK(!truth.objects[1].ignore);
  CHECK(truth.objects[1].width == 9);
  CHECK(truth.objects[1].height == 5);
}

}  // namespace
}  // namespace flowtrain::ground_truth_test
