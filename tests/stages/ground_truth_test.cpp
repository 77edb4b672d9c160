// What there is to find, from data sets.

#include "stages/evaluation/ground_truth.h"

#include <doctest/doctest.h>

#include "sampling/datasets/entries.h"
#include "stages/evaluation/coco_eval.h"
#include "tests/sampling/settings_helper.h"
#include "tests/sampling/temp_folder.h"

namespace flowtrain {
namespace {

TEST_CASE("ground truth: shapes are found where their boxes are") {
  const auto entry = shapes_entry();
  const auto set = entry.make(settings_for(entry.keys, {{"objects", 5}, {"size", 128}, {"samples", 50}}), {});
  const auto truth = ground_truth(*set);
  CHECK(truth.images.size() == 50);
  CHECK(truth.categories.size() == 6);
  CHECK(truth.categories[1].name == "square");
  CHECK(truth.objects.size() > 150);
  std::vector<FoundObject> detections;
  for (const auto& each : truth.objects) {
    CHECK(each.area == each.width * each.height);
    CHECK(!each.ignore);
    detections.push_back({each.image_id, each.category_id, each.x, each.y, each.width, each.height, 1});
  }
  CHECK(coco_evaluate(truth, detections, 2).all.ap == doctest::Approx(1));
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
  temp.write("val2017/a", "");
  const auto entry = coco_entry();
  const auto open = [&](const std::string& empty) {
    const std::vector<std::pair<std::string, Value>> values{
        {"path", temp.path().string()}, {"crowd", std::string("drop")}, {"empty", empty}};
    return entry.make(settings_for(entry.keys, values), {.training = false});
  };
  const auto all = ground_truth(*open("keep"));
  CHECK(all.images == std::vector<std::int64_t>{70, 30, 50});
  CHECK(all.categories[0].id == 17);
  REQUIRE(all.objects.size() == 3);
  CHECK(all.objects[0].category_id == 18);
  CHECK(all.objects[0].area == 7.5);
  CHECK(all.objects[1].ignore);
  const auto full = ground_truth(*open("drop"));
  CHECK(full.images == std::vector<std::int64_t>{50});
  REQUIRE(full.objects.size() == 2);
  CHECK(full.objects[1].ignore);
}

TEST_CASE("ground truth: difficult objects of VOC need not be found; a lost picture has none") {
  const TempFolder temp;
  const std::string box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>5</ymax></bndbox></object>";
  temp.write("Annotations/one.xml", "<annotation><object><name>a</name><difficult>1</difficult>" + box +
                                        "<object><name>a</name>" + box + "</annotation>");
  temp.write("Annotations/two.xml", "<annotation><object><name>a</name>" + box + "</annotation>");
  for (const std::string name : {"one", "two"}) temp.write("JPEGImages/" + name + ".jpg", "");
  temp.write("ImageSets/Main/val.txt", "one\ntwo\n");
  const auto entry = voc_entry();
  const auto set = entry.make(settings_for(entry.keys, {{"path", temp.path().string()}}), {.training = false});
  std::filesystem::remove(temp.path() / "JPEGImages/two.jpg");
  const auto truth = ground_truth(*set);
  CHECK(truth.images.size() == 2);
  REQUIRE(truth.objects.size() == 2);
  CHECK(truth.objects[0].ignore);
  CHECK(!truth.objects[1].ignore);
  CHECK(truth.objects[1].width == 9);
  CHECK(truth.objects[1].height == 5);
}

}  // namespace
}  // namespace flowtrain
