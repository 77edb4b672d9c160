#include "sampling/datasets/coco.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/entries.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fault_points.h"
#include "tests/support/settings_helper.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::coco_test {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;

std::unique_ptr<Dataset> open(const std::filesystem::path& path, Values values = {}, bool training = true) {
  const auto entry = coco_entry();
  values.push_back({"path", path.string()});
  return entry.make(settings_for(entry.keys, values), {training});
}

/// Pictures 7 (two dogs, a crowd of cats, a box without area), 3 (empty) and 5 (a cat partly outside); the annotations
/// come first and out of order.
const std::string small = R"({
  "annotations": [
    {"id": 1, "image_id": 7, "category_id": 18, "bbox": [10.5, 20, 30, 40], "area": 600.5, "iscrowd": 0,
     "segmentation": [[1, 2, 3, 4, 5, 6], [7.5, 8, 9, 1e1, 11, 12]]},
    {"id": 2, "image_id": 5, "category_id": 17, "bbox": [-4, 90, 20, 30]},
    {"id": 3, "image_id": 7, "category_id": 17, "bbox": [0, 0, 50, 50], "area": 2000, "iscrowd": 1,
     "segmentation": {"counts": [1, 2, 3], "size": [100, 100]}},
    {"id": 4, "image_id": 7, "category_id": 18, "bbox": [5, 5, 0, 9], "area": 0},
    {"id": 5, "image_id": 7, "category_id": 18, "bbox": [1, 2, 3, 4], "area": 11}],
  "images": [
    {"id": 7, "file_name": "seven.jpg", "width": 100, "height": 100},
    {"id": 3, "file_name": "three.jpg", "width": 100, "height": 100},
    {"id": 5, "file_name": "five.jpg", "width": 100, "height": 100}],
  "categories": [{"id": 18, "name": "dog"}, {"id": 17, "name": "cat", "supercategory": "animal"}]})";

struct SmallSet : TempFolder {
  explicit SmallSet(const std::string& folder = "train2017/") {
    write("annotations/instances_train2017.json", small);
    for (const std::string name : {"seven", "three", "five"}) write(folder + name + ".jpg", "jpeg " + name);
  }
};

bool equal(const Box& a, const Box& b) {
  return a.x0 == b.x0 && a.y0 == b.y0 && a.x1 == b.x1 && a.y1 == b.y1 && a.label == b.label && a.ignore == b.ignore;
}

std::string text_of(const Record& record) {
  return {reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()};
}

TEST_CASE("coco: pictures in the file's order, boxes by label, labels by category id") {
  const SmallSet temp;
  const auto set = open(temp.path());
  REQUIRE(set->size() == 3);
  CHECK(set->classes() == std::vector<std::string>{"cat", "dog"});
  ReadBuffer buffer;
  const auto seven = set->read(0, buffer);
  CHECK(text_of(seven) == "jpeg seven");
  CHECK(seven.encoding == Encoding::image);
  CHECK(seven.label == -1);
  REQUIRE(seven.boxes.size() == 3);
  CHECK(equal(seven.boxes[0], {0, 0, 50, 50, 0}));
  CHECK(equal(seven.boxes[1], {10.5, 20, 40.5, 60, 1}));
  CHECK(equal(seven.boxes[2], {1, 2, 4, 6, 1}));
  CHECK(set->read(1, buffer).boxes.empty());
  CHECK(text_of(set->read(1, buffer)) == "jpeg three");
  const auto five = set->read(2, buffer);
  REQUIRE(five.boxes.size() == 1);
  CHECK(equal(five.boxes[0], {-4, 90, 16, 120, 0}));
  CHECK(set->describe(0).ends_with("train2017/seven.jpg (boxes left out: 1)"));
  CHECK(set->describe(2).ends_with("train2017/five.jpg"));
  const auto ids = set->annotations()->image_ids;
  CHECK(ids[0] == 7);
  CHECK(ids[2] == 5);
}

TEST_CASE("coco: crowds and images without boxes, by choice") {
  const SmallSet temp;
  ReadBuffer buffer;
  const auto marked = open(temp.path(), {{"crowd", std::string("mark")}});
  CHECK(marked->read(0, buffer).boxes[0].ignore);
  CHECK(!marked->read(0, buffer).boxes[1].ignore);
  const auto dropped = open(temp.path(), {{"crowd", std::string("drop")}});
  CHECK(dropped->read(0, buffer).boxes.size() == 2);
  CHECK(dropped->size() == 3);
  const auto full = open(temp.path(), {{"empty", std::string("drop")}});
  REQUIRE(full->size() == 2);
  CHECK(text_of(full->read(1, buffer)) == "jpeg five");
  CHECK(full->annotations()->image_ids[1] == 5);
}

TEST_CASE("coco: the annotations as evaluation needs them") {
  const SmallSet temp;
  const auto set = open(temp.path(), {{"crowd", std::string("drop")}, {"empty", std::string("drop")}});
  const auto all = set->annotations()->instances;
  CHECK(all.images.size() == 3);
  REQUIRE(all.annotations.size() == 5);
  CHECK(all.categories[0].id == 17);
  const auto& crowd = all.annotations[2];
  CHECK(crowd.crowd);
  CHECK(crowd.area == 2000);
  CHECK(all.images[crowd.image].id == 7);
  CHECK(all.categories[crowd.category].name == "cat");
  CHECK(all.annotations[0].area == 600.5);
  CHECK(all.annotations[1].area == 600);  // width × height, where the file does not say
  CHECK(!all.annotations[1].crowd);
}

TEST_CASE("coco: places of the pictures") {
  ReadBuffer buffer;
  for (const std::string folder : {"images/train2017/", "images/", ""}) {
    CAPTURE(folder);
    const SmallSet temp(folder);
    CHECK(text_of(open(temp.path())->read(2, buffer)) == "jpeg five");
  }
  const SmallSet temp("elsewhere/deep/");
  CHECK(text_of(open(temp.path(), {{"pictures", std::string("elsewhere/deep")}})->read(0, buffer)) == "jpeg seven");
  const auto none = failure_of([&] { open(temp.path()); });
  check_failure(none, ExitCode::data,
                "no image exists, for example seven.jpg; searched in train2017/, images/train2017/");
  check_failure(failure_of([&] {
                  open(temp.path(), {{"pictures", std::string("else")}});
                }),
                ExitCode::data, "data.pictures: no image exists");

  TarBytes tar;
  for (const std::string name : {"seven", "three", "five"}) tar.entry("train2017/" + name + ".jpg", "in tar " + name);
  temp.write("train2017.tar", tar.end());
  const auto packed = open(temp.path(), {{"pictures", std::string("train2017.tar")}});
  CHECK(text_of(packed->read(1, buffer)) == "in tar three");
  CHECK(packed->describe(1).ends_with("train2017.tar:train2017/three.jpg"));

  tar.entry("annotations/instances_train2017.json", small);
  const auto whole = temp.write("whole.tar", tar.end());
  const auto set = open(whole);
  CHECK(text_of(set->read(2, buffer)) == "in tar five");
  CHECK(set->annotations()->instances.annotations.size() == 5);
}

TEST_CASE("coco: one missing picture is a bad sample") {
  const SmallSet temp;
  std::filesystem::remove(temp.path() / "train2017/three.jpg");
  const auto set = open(temp.path());
  CHECK(set->size() == 3);
  CHECK(set->describe(1) == "three.jpg");
  ReadBuffer buffer;
  CHECK_THROWS_WITH_AS(set->read(1, buffer), "three.jpg: the image does not exist", SampleError);
  CHECK(text_of(set->read(2, buffer)) == "jpeg five");
}

TEST_CASE("coco: splits and annotation files") {
  const SmallSet temp;
  temp.write("annotations/instances_val2017.json", small);
  temp.write("annotations/captions_val2017.json", "{}");
  temp.write("val2017/three.jpg", "val three");
  ReadBuffer buffer;
  CHECK(text_of(open(temp.path(), {}, false)->read(1, buffer)) == "val three");
  CHECK(open(temp.path(), {{"annotations", std::string("annotations/instances_val2017.json")}})->size() == 3);
  const auto split = failure_of([&] { open(temp.path(), {{"split", std::string("minival2014")}}); });
  check_failure(split, ExitCode::data, "data.split: no annotations/instances_minival2014.json in ");
  CHECK(split.hint() == "splits there: train2017, val2017; data.val_share = 0.1 splits the training data");
  check_failure(failure_of([&] {
                  open(temp.path(), {{"annotations", std::string("a.json")}});
                }),
                ExitCode::data, "data.annotations: no a.json in ");
  check_failure(failure_of([] { open("no/such"); }), ExitCode::data, "no such folder or archive");
  const auto other = failure_of([&] {
    open(temp.path(), {{"annotations", std::string("annotations/captions_val2017.json")}});
  });
  check_failure(other, ExitCode::data, "captions_val2017.json: no list 'images': this is not a COCO instances file");
}

CocoInstances parse(const std::string& json) {
  std::istringstream stream(json);
  return read_coco_instances(stream, "a.json");
}

std::string instances(const std::string& images, const std::string& annotations, const std::string& categories) {
  return "{\"images\":[" + images + "],\"annotations\":[" + annotations + "],\"categories\":[" + categories + "]}";
}

TEST_CASE("coco: damaged annotations are refused by name") {
  const std::string image = R"({"id": 1, "file_name": "a"})", category = R"({"id": 2, "name": "c"})";
  const auto refused = [&](const std::string& annotation, const std::string& part) {
    CAPTURE(annotation);
    check_failure(failure_of([&] { parse(instances(image, annotation, category)); }), ExitCode::data,
                  "a.json: " + part);
  };
  const auto with_box = [](const std::string& box) {
    return R"({"id": 4, "image_id": 1, "category_id": 2, "bbox": )" + box + "}";
  };
  CHECK(parse(instances(image, with_box("[1,2,3,4]"), category)).annotations.size() == 1);
  CHECK(parse(R"({"images": [], "categories": []})").annotations.empty());
  refused(with_box("[1,2,3,4]") + "," + with_box("[1,2,3,4]"), "annotations 4: its id occurs twice");
  refused(R"({"id": 4, "image_id": 9, "category_id": 2, "bbox": [1,2,3,4]})", "annotations 4: no image has the id 9");
  refused(R"({"id": 4, "image_id": 1, "category_id": 9, "bbox": [1,2,3,4]})",
          "annotations 4: no category has the id 9");
  refused(with_box("[1,2,3,1e8]"), "annotations 4: 'bbox' is far outside of any image");
  refused(with_box("[1,2,3,1e99]"), "annotations 4: 'bbox' has a number that is too large");
  refused(with_box("[1,2,3,NaN]"), "malformed JSON at byte ");
  refused(with_box("[1,2,3]"), "annotations 4: 'bbox' is not a list of four numbers");
  refused(R"({"id": 4, "image_id": 1, "category_id": 2})", "annotations 4: 'bbox' is missing");
  refused(R"({"image_id": 1, "category_id": 2, "bbox": [1,2,3,4]})", "annotations #0: 'id' is missing");
  refused(R"({"id": "a 4", "image_id": "b", "category_id": 2, "bbox": [1,2,3,4]})",
          "annotations #0: no image has the id b");
  for (const auto* id : {"1.5", "1e300", "18446744073709551616", "true"})
    refused(R"({"id": 4, "image_id": )" + std::string(id) + R"(, "category_id": 2, "bbox": [1,2,3,4]})",
            "annotations 4: 'image_id' is not a whole number of at most 64 bits");
  check_failure(failure_of([&] { parse(instances(image + "," + image, "", category)); }), ExitCode::data,
                "a.json: images 1: its id occurs twice");
  check_failure(failure_of([&] { parse(instances(image, "", category + "," + category)); }), ExitCode::data,
                "a.json: categories 2: its id occurs twice");
  check_failure(failure_of([&] { parse(instances(image, "", category + R"(,{"id": 5, "name": "c"})")); }),
                ExitCode::data, "a.json: categories 2 and 5 are both called 'c'");
  check_failure(failure_of([&] { parse(instances(R"({"id": 1, "file_name": ""})", "", category)); }), ExitCode::data,
                "images 1: 'file_name' is empty");
  check_failure(failure_of([&] { parse(instances(R"({"id": 1, "file_name": "a", "width": -1})", "", category)); }),
                ExitCode::data, "images 1: the width or height");
  check_failure(failure_of([&] { parse("{\"images\": ["); }), ExitCode::data, "a.json: malformed JSON at byte 12");
}

TEST_CASE("coco: ids may be written with fractions of 0, and may be large") {
  const auto all = parse(instances(R"({"id": 7.0, "file_name": "a"}, {"id": 9007199254740995, "file_name": "b"})",
                                   R"({"id": 1e0, "image_id": 7, "category_id": 2.0, "bbox": [1,2,3,4]},
                                      {"id": 2, "image_id": 9007199254740995, "category_id": 2, "bbox": [1,2,3,4]})",
                                   R"({"id": 2, "name": " c\n"})"));
  CHECK(all.images[0].id == 7);
  CHECK(all.images[1].id == 9'007'199'254'740'995);
  CHECK(all.annotations[0].image == 0);
  CHECK(all.annotations[1].image == 1);
  CHECK(all.categories[0].name == "c");  // without the blanks around it
  check_failure(failure_of([&] { parse("\xff\xfe{"); }), ExitCode::data,
                "byte 0: the file is in UTF-16, but JSON must be in UTF-8");
}

TEST_CASE("coco: records have the size that is annotated, and boxes that do not fit it are told by kind") {
  static std::vector<std::string> warnings;
  warnings.clear();
  TempFolder temp;
  for (const std::string name : {"a", "b "}) temp.write("train2017/" + name + ".jpg", "jpeg");
  const auto box = [](int id, int image, const std::string& at) {
    return concat(R"({"id": )", id, R"(, "category_id": 1, "image_id": )", image, R"(, "bbox": [)", at, "]}");
  };
  temp.write(
      "annotations/instances_train2017.json",
      instances(R"({"id": 1, "file_name": " a.jpg", "width": 90, "height": 60.0},
                          {"id": 2, "file_name": "./x/../b .jpg", "width": 0, "height": null})",
                box(1, 1, "80, 50, 11, 11") + "," + box(2, 1, "80, 50, 12, 10") + "," + box(3, 1, "90, 0, 5, 5") + "," +
                    box(4, 1, "0, 0, 0, 5") + "," + box(7, 1, "20, 20, -5, 5") + "," + box(8, 1, "20, 20, 5, -0.5") +
                    "," + box(5, 2, "500, 0, 5, 5") + "," + box(6, 2, "-9, 0, 5, 5"),
                R"({"id": 1, "name": "c"})"));
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  const auto set = open(temp.path());
  set_warning_sink(nullptr);
  ReadBuffer buffer;
  const auto a = set->read(0, buffer);
  CHECK(a.width == 90);
  CHECK(a.height == 60);
  CHECK(a.boxes.size() == 2);
  const auto b = set->read(1, buffer);
  CHECK(b.width == 0);
  CHECK(b.height == 0);
  CHECK(b.boxes.size() == 1);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].ends_with(
      "instances_train2017.json: among the boxes 1 without area, 2 of negative size, 2 outside of their images are "
      "left out, 1 reaches beyond an edge; the first belongs to  a.jpg"));
}

TEST_CASE("coco: ids may be texts") {
  const auto all =
      parse(instances(R"({"id": "b_1", "file_name": "a"}, {"id": "17", "file_name": "b"})",
                      R"({"id": "x", "image_id": "b_1", "category_id": "zebra", "bbox": [1,2,3,4]},
                                      {"id": 2, "image_id": 17, "category_id": "ant", "bbox": [1,2,3,4]})",
                      R"({"id": "zebra", "name": "z"}, {"id": 9, "name": "n"}, {"id": "ant", "name": "a"})"));
  CHECK(all.images[1].id == 17);
  CHECK(all.annotations[0].image == 0);
  CHECK(all.annotations[1].image == 1);
  REQUIRE(all.categories.size() == 3);
  CHECK(all.categories[0].id == 9);
  CHECK(all.categories[1].name == "a");
  CHECK(all.annotations[0].category == 2);
  CHECK(all.text_ids.at(17) == "17");
  CHECK(all.text_ids.at(all.images[0].id) == "b_1");
  CHECK(all.text_ids.size() == 4);
  check_failure(
      failure_of([] { parse(instances(R"({"id": "b", "file_name": "a"}, {"id": "b", "file_name": "c"})", "", "")); }),
      ExitCode::data, "a.json: images b: its id occurs twice");
}

TEST_CASE("coco: the lists of splits are found by their usual names") {
  const TempFolder temp;
  const auto add = [&](const std::string& split) {
    temp.write("annotations/instances_" + split + ".json", instances(R"({"id": 1, "file_name": "a.jpg"})", "", ""));
    temp.write(split + "/a.jpg", split);
  };
  const auto content = [&](bool training, Values values = {}) {
    ReadBuffer buffer;
    return text_of(open(temp.path(), values, training)->read(0, buffer));
  };
  for (const std::string split : {"Train", "test"}) add(split);
  CHECK(content(true) == "Train");
  CHECK(content(false) == "test");
  const auto open_set = open(temp.path());
  const auto& named = dynamic_cast<const NamedDataset&>(*open_set);
  CHECK(named.place().ends_with("annotations/instances_Train.json"));
  CHECK(named.notes().front().starts_with("there is no validation split, so the test data choose the best snapshot"));
  add("valid");
  CHECK(content(false) == "valid");
  CHECK(content(false, {{"split", std::string("TEST")}}) == "test");
  add("val2017");
  CHECK(content(false) == "val2017");
}

TEST_CASE("coco: sets without records") {
  const SmallSet temp;
  temp.write("annotations/instances_train2017.json", instances("", "", ""));
  CHECK_THROWS_AS(open(temp.path()), EmptyDataset);
  temp.write("annotations/instances_train2017.json", instances(R"({"id": 1, "file_name": "five.jpg"})", "", ""));
  CHECK(open(temp.path())->size() == 1);
  CHECK_THROWS_AS(open(temp.path(), {{"empty", std::string("drop")}}), EmptyDataset);
}

/// A file as large as the real ones: ten objects an image, polygons of 60 corners. 500 MB of 10^5 images are
/// FLOWTRAIN_TIMES=5.
TEST_CASE("coco: a large annotation file, in little memory") {
  const TempFolder temp;
  const std::uint64_t images = 20'000 * times(), objects = 10;
  const auto path = temp.path() / "large.json";
  {
    std::ofstream file(path);
    file << "{\"images\":[";
    for (std::uint64_t i = 0; i < images; ++i)
      file << (i ? "," : "") << "{\"license\":3,\"file_name\":\"" << 1'000'000'000 + i << ".jpg\",\"height\":480,"
           << "\"width\":640,\"date_captured\":\"2013-11-14 17:02:52\",\"id\":" << i << '}';
    std::string polygon = "[[";
    for (int i = 0; i < 60; ++i) polygon.append(i ? "," : "").append(std::to_string(i * 7 % 640)).append(".25");
    polygon += "]]";
    file << "],\"annotations\":[";
    for (std::uint64_t i = 0; i < images * objects; ++i)
      file << (i ? "," : "") << "{\"segmentation\":" << polygon
           << ",\"area\":702.25,\"iscrowd\":0,\"image_id\":" << i * 7919 % images
           << ",\"bbox\":[473.07,395.93,38.65,28.67],\"category_id\":" << i % 80 << ",\"id\":" << i << '}';
    file << "],\"categories\":[";
    for (int i = 0; i < 80; ++i) file << (i ? "," : "") << "{\"id\":" << i << ",\"name\":\"c" << i << "\"}";
    file << "]}";
  }
  const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto before_kib = peak_kib();
  const auto begin = std::chrono::steady_clock::now();
  std::ifstream stream(path);
  const auto all = read_coco_instances(stream, "large.json");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(all.images.size() == images);
  CHECK(all.annotations.size() == images * objects);
  MESSAGE(images << " images, " << std::filesystem::file_size(path) / 1'000'000 << " MB: " << took.count() << " s, "
                 << (peak_kib() - before_kib) / 1024 << " MiB more memory at its peak");
}

}  // namespace
}  // namespace flowtrain::coco_test
