#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "sampling/core/warning.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/voc_annotation.h"
#include "sampling/named_dataset.h"
#include "tests/support/failure_helper.h"
#include "tests/support/paths.h"
#include "tests/support/settings_helper.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::voc_test {
namespace {

using Texts = std::vector<std::string>;
using Values = std::vector<std::pair<std::string, Value>>;

std::unique_ptr<Dataset> open(const std::filesystem::path& path, Values values = {}, bool training = true) {
  const auto entry = voc_entry();
  values.push_back({"path", path.string()});
  return entry.make(settings_for(entry.keys, values), {training});
}

std::string object(const std::string& name, int xmin, int ymin, int xmax, int ymax, bool difficult = false) {
  const auto tag = [](const std::string& key, int value) {
    return "<" + key + ">" + std::to_string(value) + "</" + key + ">";
  };
  return "<object><name>" + name + "</name>" + tag("difficult", difficult) + "<bndbox>" + tag("xmin", xmin) +
         tag("ymin", ymin) + tag("xmax", xmax) + tag("ymax", ymax) + "</bndbox></object>";
}

std::string annotation(const std::string& objects) {
  return "<annotation><size><width>100</width><height>50</height></size>" + objects + "</annotation>";
}

void add_picture(const TempFolder& temp, const std::string& name, const std::string& xml) {
  temp.write("JPEGImages/" + name + ".jpg", "jpeg " + name);
  temp.write("Annotations/" + name + ".xml", xml);
}

/// Two pictures to train on; "one" has a cat, a dog that is difficult and a box without area, "two" has a dog.
struct SmallSet : TempFolder {
  SmallSet() {
    add_picture(
        *this, "one",
        annotation(object("cat", 1, 1, 100, 50) + object("dog", 11, 11, 30, 20, true) + object("cat", 5, 5, 5, 5)));
    add_picture(*this, "two", annotation(object("dog", 91, 41, 110, 60)));
    write("ImageSets/Main/train.txt", "one  1\r\n\n two -1");
    write("ImageSets/Main/val.txt", "two\n");
  }
};

bool equal(const Box& a, const Box& b) {
  return a.x0 == b.x0 && a.y0 == b.y0 && a.x1 == b.x1 && a.y1 == b.y1 && a.label == b.label;
}

TEST_CASE("voc: pictures with their boxes") {
  const SmallSet temp;
  const auto set = open(temp.path());
  REQUIRE(set->size() == 2);
  CHECK(set->classes() == Texts{"cat", "dog"});
  ReadBuffer buffer;
  const auto one = set->read(0, buffer);
  CHECK(std::string(reinterpret_cast<const char*>(one.bytes.data()), one.bytes.size()) == "jpeg one");
  CHECK(one.encoding == Encoding::image);
  CHECK(one.label == -1);
  REQUIRE(one.boxes.size() == 2);
  CHECK(equal(one.boxes[0], {0, 0, 100, 50, 0}));
  CHECK(equal(one.boxes[1], {10, 10, 30, 20, 1}));
  CHECK(!one.boxes[0].ignore);
  CHECK(one.boxes[1].ignore);  // it is difficult
  const auto two = set->read(1, buffer);
  REQUIRE(two.boxes.size() == 1);
  CHECK(equal(two.boxes[0], {90, 40, 100, 50, 1}));  // clipped to the picture
  CHECK(set->describe(0).ends_with("JPEGImages/one.jpg (boxes left out: 1)"));
  CHECK(set->describe(1).ends_with("JPEGImages/two.jpg"));
  CHECK(open(temp.path(), {}, false)->size() == 1);
  CHECK(open(temp.path(), {{"split", std::string("val")}})->size() == 1);
}

TEST_CASE("voc: names in lists may have spaces, with labels behind them or without") {
  const TempFolder temp;
  const auto cat = annotation(object("cat", 1, 1, 9, 9));
  for (const char* name : {"old cat", "cat 1", "plain"}) add_picture(temp, name, cat);
  temp.write("JPEGImages/odd.one.PNG", "png");
  temp.write("Annotations/odd.one.xml", cat);
  const auto pictures = [&](const std::string& list) {
    temp.write("ImageSets/Main/train.txt", list);
    const auto set = open(temp.path());
    Texts names;
    for (std::uint64_t id = 0; id < set->size(); ++id)
      names.push_back(std::filesystem::path(set->describe(id)).filename().string());
    return names;
  };
  const Texts three{"old cat.jpg", "cat 1.jpg", "plain.jpg"};
  CHECK(pictures("old cat\ncat 1\r\n plain \n") == three);
  CHECK(pictures("old cat  1\ncat 1 -1\nplain\t0\n") == three);
  CHECK(pictures("odd.one\n") == Texts{"odd.one.PNG"});
  const auto failure = failure_of([&] { pictures("plain 1\nold cat\n"); });
  check_failure(failure, ExitCode::data, "'plain 1' is listed, but there is no JPEGImages/plain 1.jpg");
  CHECK(failure.hint().find("a name and -1, 0 or 1") != std::string::npos);
}

TEST_CASE("voc: lines of lists may be the paths of a picture and its annotation") {
  const TempFolder temp;
  const auto cat = annotation(object("cat", 1, 1, 9, 9));
  for (const char* name : {"VOC/JPEGImages/one.jpg", "VOC/pictures/two b.jpg"}) temp.write(name, "jpeg");
  for (const char* name : {"VOC/Annotations/one.xml", "VOC/marks/two.xml"}) temp.write(name, cat);
  const auto opened = [&](const std::string& list) {
    temp.write("VOC/ImageSets/Main/train.txt", list);
    return open(temp.path());
  };
  const auto set = opened(
      "\xef\xbb\xbfJPEGImages/one.jpg Annotations/one.xml\r\n./VOC/pictures/two b.jpg\t./VOC/marks/two.xml\r\n\r\n");
  REQUIRE(set->size() == 2);
  CHECK(set->describe(0).ends_with("VOC/JPEGImages/one.jpg"));
  CHECK(set->describe(1).ends_with("VOC/pictures/two b.jpg"));
  CHECK(opened("one\nJPEGImages/one.jpg Annotations/one.xml")->size() == 2);
  check_failure(failure_of([&] { opened("JPEGImages/one.jpg Annotations/no.xml"); }), ExitCode::data,
                "'JPEGImages/one.jpg Annotations/no.xml' is listed, but there is no Annotations/no.xml");
  check_failure(failure_of([&] { opened(std::string("o\0n\0e\0", 6)); }), ExitCode::data,
                "train.txt: its first line is not UTF-8 (it looks like UTF-16)");
}

TEST_CASE("voc: lists of splits are found by their usual names, and told with the test data") {
  const TempFolder temp;
  for (const char* name : {"one", "two"}) add_picture(temp, name, annotation(object("cat", 1, 1, 9, 9)));
  temp.write("ImageSets/Main/trainval.txt", "one");
  temp.write("ImageSets/Main/cat_train.txt", "one 1");
  temp.write("ImageSets/Main/Test.txt", "one\ntwo\n");
  const auto training = open(temp.path());
  const auto& named = dynamic_cast<const NamedDataset&>(*training);
  CHECK(named.place() == (temp.path() / "ImageSets/Main/trainval.txt").string());
  CHECK(named.notes().front() ==
        "there is no validation split, so the test data choose the best snapshot: the list Test (2 "
        "samples); data.val_share = 0.1 splits the training data instead");
  CHECK(open(temp.path(), {}, false)->size() == 2);
  temp.write("ImageSets/Main/Val.txt", "two");
  CHECK(open(temp.path(), {}, false)->describe(0).ends_with("two.jpg"));
  check_failure(failure_of([&] { open(temp.path()); }), ExitCode::data, "no ImageSets/Main/train.txt in ");
  temp.write("ImageSets/Main/train.txt", "one");
  CHECK(dynamic_cast<const NamedDataset&>(*open(temp.path())).notes() ==
        Texts{"test data: the list Test (2 samples); the run does not use it, `flowtrain test` does if "
              "data.test.split names it"});
  CHECK(open(temp.path(), {{"split", std::string("test")}})->size() == 2);
}

TEST_CASE("voc: the fingerprint is that of names and boxes") {
  const SmallSet temp, again;
  const auto first = open(temp.path())->fingerprint();
  CHECK(open(again.path())->fingerprint() == first);
  add_picture(again, "two", annotation(object("dog", 90, 41, 110, 60)));
  CHECK(open(again.path())->fingerprint() != first);
  temp.write("ImageSets/Main/train.txt", "two\none");
  CHECK(open(temp.path())->fingerprint() != first);
}

TEST_CASE("voc: a target makes pictures with and without it") {
  const SmallSet temp;
  const auto set = open(temp.path(), {{"target", std::string("cat")}});
  CHECK(set->classes() == Texts{"absent", "cat"});
  CHECK(set->label(0) == 1);
  CHECK(set->label(1) == 0);
  ReadBuffer buffer;
  const auto record = set->read(0, buffer);
  CHECK(record.label == 1);
  REQUIRE(record.boxes.size() == 1);
  CHECK(record.boxes[0].label == 1);
  const auto easy = open(temp.path(), {{"target", std::string("dog")}, {"difficult", false}});
  CHECK(easy->label(0) == 0);
  CHECK(easy->label(1) == 1);
}

TEST_CASE("voc: crops are boxes with a margin inside the picture") {
  const SmallSet temp;
  const auto set = open(temp.path(), {{"mode", std::string("crops")}, {"margin", 0.25}});
  REQUIRE(set->size() == 3);
  ReadBuffer buffer;
  const auto dog = set->read(1, buffer);
  CHECK(dog.label == 1);
  CHECK(dog.boxes.empty());
  CHECK(equal(dog.region, {5, 5, 35, 25, 1}));
  CHECK(equal(set->read(2, buffer).region, {87.5, 37.5, 100, 50, 1}));
  CHECK(set->describe(1).ends_with("JPEGImages/one.jpg box 1"));
  CHECK(set->describe(2).ends_with("JPEGImages/two.jpg box 0"));
  const auto chosen = open(temp.path(), {{"mode", std::string("crops")}, {"class_names", Texts{"dog"}}});
  CHECK(chosen->size() == 2);
  CHECK(chosen->label(0) == 0);
}

TEST_CASE("voc: what is wrong is named") {
  const SmallSet temp;
  const auto failure = [&](Values values) { return failure_of([&] { open(temp.path(), values); }); };
  const auto split = failure({{"split", std::string("tes")}});
  check_failure(split, ExitCode::data, "data.split: no ImageSets/Main/tes.txt");
  CHECK(split.hint() == "splits there: train, val; data.val_share = 0.1 splits the training data");
  const auto target = failure({{"target", std::string("cats")}});
  check_failure(target, ExitCode::usage, "data.target: no class is called 'cats'");
  CHECK(target.hint() == "did you mean 'cat'?");
  check_failure(failure({{"target", std::string("cat")}, {"mode", std::string("crops")}}), ExitCode::usage,
                "needs mode");
  check_failure(failure({{"class_names", Texts{"a", "a"}}}), ExitCode::usage, "a name occurs twice");
  check_failure(failure({{"class_names", Texts{"cow"}}, {"mode", std::string("crops")}}), ExitCode::data, "no boxes");
  check_failure(failure_of([] { open("no/such"); }), ExitCode::data, "no such folder or archive");

  temp.write("ImageSets/Main/train.txt", "");
  check_failure(failure({}), ExitCode::data, "train.txt: the list has no images");
  temp.write("ImageSets/Main/train.txt", "one\nthree\n");
  check_failure(failure({}), ExitCode::data, "'three' is listed, but there is no JPEGImages/three.jpg");
  temp.write("JPEGImages/three.jpg", "");
  check_failure(failure({}), ExitCode::data, "'three' is listed, but there is no Annotations/three.xml");
  temp.write("Annotations/three.xml", "<annotation><object>");
  check_failure(failure({}), ExitCode::data, "Annotations/three.xml: malformed XML at byte ");
  temp.write("Annotations/three.xml", std::string((1 << 20) + 1, ' '));
  check_failure(failure({}), ExitCode::data, "Annotations/three.xml: larger than 1048576 bytes");
  temp.write("Annotations/three.xml", "<annotation>" + object("cat", 1, 1, 3, 3) + "</annotation>");
  temp.write("other/ImageSets/Main/train.txt", "one");
  check_failure(failure({}), ExitCode::data, "data.path: several data sets");
}

VocAnnotation parse(const std::string& xml) { return parse_voc(std::as_bytes(std::span(xml)), "x.xml"); }

TEST_CASE("voc: annotations") {
  const auto fractions = parse(
      "<annotation><object><name>a</name><bndbox><xmin> 1.5 </xmin><ymin>2</ymin>"
      "<xmax>10</xmax><ymax>\n20</ymax></bndbox></object></annotation>");
  REQUIRE(fractions.objects.size() == 1);
  CHECK(equal(fractions.objects[0].box, {0.5, 1, 10, 20, -1}));
  CHECK(fractions.width == 0);
  const auto outside =
      parse(annotation(object("a", 200, 1, 300, 9) + object("a", 9, 1, 3, 9) + object("a", 0, 0, 9, 9)));
  CHECK(outside.odd.left_out() == 2);
  CHECK(equal(outside.objects.at(0).box, {0, 0, 9, 9, -1}));
  const auto refused = [](const std::string& xml, const std::string& part) {
    check_failure(failure_of([&] { parse(xml); }), ExitCode::data, part);
  };
  refused("", "x.xml: malformed XML at byte 0");
  refused("<other/>", "x.xml: it has no <annotation>");
  refused("<annotation><object><name>a</name></object></annotation>", "no name or no bndbox");
  refused("<annotation><object><name>a</name><bndbox><xmin>1</xmin></bndbox></object></annotation>", "<ymin>");
  for (const auto* number : {"x", "nan", "inf", "1e300", "1 2"})
    refused("<annotation><size><width>" + std::string(number) + "</width></size></annotation>",
            "<width> at byte 13 is missing or no number");
  for (const auto* no_size : {"<size/>", "<size><width/><height> </height></size>", "<size><width>0</width></size>"})
    CHECK(parse("<annotation>" + std::string(no_size) + object("a", 1, 1, 9, 9) + "</annotation>").width == 0);
  std::string deep = "<annotation>";
  for (int i = 0; i < 80'000; ++i) deep += "<a>";
  refused(deep, "malformed XML");
}

TEST_CASE("voc: blanks around texts do not count, nor do comments and CDATA in them") {
  for (const char* name : {"do<!-- a -->g", "<![CDATA[ do]]>g", "&#100;og&#10;", "<!-- a -->dog"})
    CHECK(parse(annotation(object(name, 1, 1, 9, 9))).objects[0].name == "dog");
  const auto blank = parse(
      "<annotation><size><width>\n 90 </width><height>\t60</height></size><object><name>\n  dog\r\n</name><difficult> "
      "1\n"
      "</difficult><bndbox><xmin> 1 "
      "</xmin><ymin>2\n</ymin><xmax>10</xmax><ymax>20</ymax></bndbox></object></annotation>");
  CHECK(blank.width == 90);
  REQUIRE(blank.objects.size() == 1);
  CHECK(blank.objects[0].name == "dog");
  CHECK(blank.objects[0].difficult);
}

TEST_CASE("voc: annotations and lists in other encodings") {
  const auto name_in = [](const std::string& encoding, const std::string& name) {
    return parse("<?xml version='1.0' encoding=\"" + encoding + "\"?>" + annotation(object(name, 1, 1, 9, 9)))
        .objects.at(0)
        .name;
  };
  CHECK(name_in("windows-1252", "caf\xe9 \x80") == "café €");
  CHECK(name_in("ISO-8859-1", "caf\xe9") == "café");
  CHECK(name_in("GBK", "\xc3\xa8") == "猫");
  CHECK(name_in("utf-16", "café") == "café");  // declared in vain: the bytes are UTF-8
  const std::string plain = annotation(object("café", 1, 1, 9, 9));
  CHECK(parse("\xef\xbb\xbf" + plain).objects.at(0).name == "café");
  std::string wide = "\xff\xfe";
  for (const char c : annotation(object("dog", 1, 1, 9, 9))) wide += {c, '\0'};
  CHECK(parse(wide).objects.at(0).name == "dog");
  check_failure(failure_of([&] { name_in("klingon", "\xe9"); }), ExitCode::data,
                "x.xml: it is not in the encoding that it declares, 'klingon'");
  check_failure(failure_of([&] { name_in("windows-1252", "\x81"); }), ExitCode::data, "it declares, 'windows-1252'");
  const auto undeclared = failure_of([&] { parse(annotation(object("caf\xe9", 1, 1, 9, 9))); });
  check_failure(undeclared, ExitCode::data, "x.xml: the name of the <object> at byte ");
  CHECK(undeclared.hint().find("encoding=\"windows-1252\"") != std::string::npos);

  const SmallSet temp;
  temp.write("ImageSets/Main/marked.txt", "\xef\xbb\xbfone\r\ntwo");
  temp.write("ImageSets/Main/wide.txt", std::string("\xfe\xff\0o\0n\0e\0\n\0t\0w\0o", 16));
  temp.write("ImageSets/Main/endings.txt", "one.jpg\ntwo.jpg\n");
  for (const char* split : {"marked", "wide", "endings"}) {
    CAPTURE(split);
    const auto set = open(temp.path(), {{"split", std::string(split)}});
    REQUIRE(set->size() == 2);
    CHECK(set->describe(1).ends_with("two.jpg"));
  }
  for (const char* name : {"bare", "v1.2/bare"}) {
    temp.write(std::string("JPEGImages/") + name, "a picture without an ending");
    temp.write("ImageSets/Main/bare.txt", name);
    check_failure(failure_of([&] { open(temp.path(), {{"split", std::string("bare")}}); }), ExitCode::data, "bare");
  }
}

TEST_CASE("voc: records have the size that is annotated, and boxes that do not fit it are told by kind") {
  static Texts warnings;
  warnings.clear();
  const TempFolder temp;
  add_picture(temp, "a", annotation(object("cat", 1, 1, 100, 50) + object("cat", 90, 1, 101, 50)));
  add_picture(temp, "b",
              annotation(object("cat", 101, 1, 110, 9) + object("cat", 9, 9, 4, 20) + object("cat", 4, 4, 4, 9) +
                         object("cat", 90, 1, 102, 50)));
  add_picture(temp, "c", "<annotation>" + object("cat", 500, 1, 509, 10) + "</annotation>");
  temp.write("ImageSets/Main/train.txt", "a\nb\nc\n");
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  const auto set = open(temp.path());
  set_warning_sink(nullptr);
  ReadBuffer buffer;
  CHECK(set->read(0, buffer).width == 100);
  CHECK(set->read(0, buffer).height == 50);
  CHECK(set->read(2, buffer).width == 0);
  REQUIRE(warnings.size() == 1);
  CHECK(
      warnings[0].ends_with("ImageSets/Main/train.txt: among the boxes 1 without area, 1 of negative size, 1 outside "
                            "of their images are left out, 1 reaches beyond an edge; the first belongs to "
                            "Annotations/b.xml"));
  const auto crops = open(temp.path(), {{"mode", std::string("crops")}});
  REQUIRE(crops->size() == 4);
  CHECK(equal(crops->read(3, buffer).region, {498, 0, 510, 11, 0}));  // whatever the picture's size
}

TEST_CASE("voc: the blood cells of BCCD, in place in their archive") {
  const std::filesystem::path archive = test::source_path("../shared/data/bccd/bccd.tar");
  SKIP_UNLESS(std::filesystem::exists(archive), "shared", "../shared/data/bccd is not there");
  std::map<std::string, int> boxes;
  int without_area = 0;
  ReadBuffer buffer;
  for (const auto& [split, pictures] : {std::pair{"train", 205u}, {"val", 87u}, {"test", 72u}}) {
    const auto set = open(archive, {{"split", std::string(split)}});
    CHECK(set->size() == pictures);
    CHECK(set->classes() == Texts{"Platelets", "RBC", "WBC"});
    for (std::uint64_t id = 0; id < set->size(); ++id) {
      const auto record = set->read(id, buffer);
      CHECK(std::to_integer<int>(record.bytes[0]) == 0xff);  // a JPEG
      for (const auto& box : record.boxes) {
        ++boxes[set->classes()[box.label]];
        const bool inside =
            box.x0 >= 0 && box.y0 >= 0 && box.x0 < box.x1 && box.y0 < box.y1 && box.x1 <= 640 && box.y1 <= 480;
        CHECK(inside);
      }
      without_area += set->describe(id).ends_with("(boxes left out: 1)");
    }
    CHECK(open(archive, {{"split", std::string(split)}, {"target", std::string("WBC")}})->size() == pictures);
  }
  CHECK(without_area == 2);
  CHECK(boxes["RBC"] + boxes["WBC"] + boxes["Platelets"] == 4155 + 372 + 361 - 2);
  CHECK(boxes["WBC"] == 372);
  CHECK(boxes["Platelets"] == 361);
  const auto crops = open(archive, {{"split", std::string("trainval")}, {"mode", std::string("crops")}});
  CHECK(crops->read(crops->size() - 1, buffer).region.x1 > 0);
}

}  // namespace
}  // namespace flowtrain::voc_test
