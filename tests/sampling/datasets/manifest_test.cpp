#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/named_dataset.h"
#include "tests/support/failure_helper.h"
#include "tests/support/http_server.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::manifest_test {
namespace {

using Texts = std::vector<std::string>;
using Shape = std::vector<std::int64_t>;
using Values = std::vector<std::pair<std::string, Value>>;

std::unique_ptr<Dataset> open_url(const std::string& path, Values values = {}, bool training = true,
                                  const Texts& parts = {"*"}) {
  const auto entry = manifest_entry();
  values.emplace_back("path", path);
  return entry.make(settings_for(entry.keys, values), {training, parts});
}

std::unique_ptr<Dataset> open(const std::filesystem::path& path, Values values = {}, bool training = true,
                              const Texts& parts = {"*"}) {
  return open_url(path.string(), std::move(values), training, parts);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Describes a part: a text as it is, an array as "i64 (2): 1, 2".
std::string shown(const Part& part) {
  if (part.encoding != Encoding::array) return text_of(part.bytes);
  const auto list = [&]<class T>(T) {
    std::vector<T> values(part.bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), part.bytes.data(), part.bytes.size());
    return join(values);
  };
  const auto values = part.dtype == DType::i64 ? list(std::int64_t{}) : list(float{});
  return concat(name_of(part.dtype), " (", join(part.shape), "): ", values);
}

std::string shown(const Dataset& set, std::uint64_t id) {
  ReadBuffer buffer;
  const auto record = set.read(id, buffer);
  return join(record.parts, "; ", [](const Part& part) { return concat(part.name, "=", shown(part)); });
}

TEST_CASE("manifest: the columns of a CSV file are a picture, a class, texts and numbers") {
  TempFolder temp;
  temp.write("d/images/a.jpg", "first");
  temp.write("d/images/b.png", "second");
  const auto path = temp.write("d/list.csv",
                               "\xef\xbb\xbf"
                               "image,label,caption,age,score,box\r\n"
                               "images/a.jpg,dog,\"a \"\"dog\"\", which\r\nbarks\",3,0.5,\"[1, 2, 3]\"\r\n"
                               "\r\n"
                               "images/b.png,cat,,4,1,\"[4, 5, 6]\"");
  const auto set = open(path);
  REQUIRE(set->size() == 2);
  CHECK(set->classes() == Texts{"cat", "dog"});
  CHECK(set->label(0) == 1);
  CHECK(set->label(1) == 0);
  ReadBuffer buffer;
  const auto record = set->read(0, buffer);
  CHECK(record.encoding == Encoding::image);
  CHECK(text_of(record.bytes) == "first");
  CHECK(record.label == 1);
  CHECK(text_of(set->read(1, buffer).bytes) == "second");
  CHECK(shown(*set, 0) == "caption=a \"dog\", which\r\nbarks; age=i64 (): 3; score=f32 (): 0.5; box=i64 (3): 1, 2, 3");
  CHECK(shown(*set, 1) == "caption=; age=i64 (): 4; score=f32 (): 1; box=i64 (3): 4, 5, 6");
  CHECK(set->describe(0) == path.string() + ":2");
  CHECK(set->describe(1) == path.string() + ":5");
  CHECK_FALSE(set->resident());
  const auto forms = set->parts();
  REQUIRE(forms.size() == 4);
  CHECK(forms[0].encoding == Encoding::text);
  CHECK(forms[3].shape == Shape{3});
}

TEST_CASE("manifest: a column that is used has lists of numbers in all rows of JSON lines, or in none") {
  TempFolder temp;
  for (const std::string odd : {"\"abc\"", "5", "[[1], [2]]", "[1, null]"}) {
    CAPTURE(odd);
    const auto path = temp.write("a.jsonl", "{\"ids\": [1, 2]}\n{\"ids\": []}\n{}\n{\"ids\": " + odd + "}\n");
    check_failure(failure_of([&] { open(path, {}, true, {"ids"}); }), ExitCode::data,
                  "a.jsonl:4: column 'ids': it is no list of numbers, but other rows have lists of them");
    CHECK(open(path, {}, true, {"other"})->size() == 4);
  }
}

TEST_CASE("manifest: JSON lines may hold lists, and rows may lack keys") {
  TempFolder temp;
  const auto path = temp.write("a.jsonl",
                               "{\"text\": \"caf\\u00e9\", \"labels\": [\"b\", \"a\"], \"n\": [1, 2], \"ok\": true}\n"
                               "\n"
                               "{\"labels\": [], \"n\": [], \"ok\": false, \"more\": {\"k\": [1, \"x\"]}, \"id\": 7}\n"
                               "{\"labels\": [\"c\"], \"n\": [-3.5], \"ok\": true, \"text\": \"12\", \"id\": null}\n");
  const auto set = open(path);
  REQUIRE(set->size() == 3);
  CHECK(set->classes() == Texts{"a", "b", "c"});
  CHECK(set->label(0) == -1);
  CHECK(set->resident());
  CHECK(shown(*set, 0) == "text=caf\xc3\xa9; labels=i64 (2): 1, 0; n=f32 (2): 1, 2; ok=i64 (): 1; more=; id=i64 (0): ");
  CHECK(shown(*set, 1) == "text=; labels=i64 (0): ; n=f32 (0): ; ok=i64 (): 0; more={\"k\": [1, \"x\"]}; id=i64 (): 7");
  CHECK(shown(*set, 2) == "text=12; labels=i64 (1): 2; n=f32 (1): -3.5; ok=i64 (): 1; more=; id=i64 (0): ");
  const auto forms = set->parts();
  CHECK(forms[1].shape == Shape{-1});
  CHECK(forms[2].shape == Shape{-1});
  CHECK(forms[3].shape.empty());

  ReadBuffer buffer;
  Record outline;
  REQUIRE(set->outline(2, outline, buffer));
  CHECK(outline.id == 2);
  CHECK(outline.part("text")->bytes.empty());
  CHECK(outline.part("text")->shape[0] == 2);
  CHECK(outline.part("n")->shape[0] == 1);
  CHECK(outline.part("ok")->shape.empty());
  CHECK(outline.part("id")->shape[0] == 0);
}

TEST_CASE("manifest: columns of other files are texts, arrays and recordings") {
  TempFolder temp;
  std::string npy = "\x93NUMPY\1";
  const std::string dict = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }     \n";
  npy += std::string("\0", 1) + static_cast<char>(dict.size()) + '\0' + dict + std::string("\1\0\2\0\3\0\4\0", 8);
  temp.write("t/a.txt", "words");
  temp.write("t/a.npy", npy);
  temp.write("t/a.wav", "sound");
  temp.write("t/mask.png", "mask");
  temp.write("t/a.jpg", "picture");
  const auto path = temp.write("list.tsv",
                               "path\ttext\tnumbers\taudio\tmask\nt/a.jpg\tt/a.txt\tt/a.npy\tt/a.wav\tt/mask.png\n"
                               "t/a.jpg\t\t\t\t\n");
  const auto set = open(path, {{"files", Texts{"path", "text", "numbers", "audio", "mask"}}});
  ReadBuffer buffer;
  const auto record = set->read(0, buffer);
  CHECK(text_of(record.bytes) == "picture");
  REQUIRE(record.parts.size() == 4);
  CHECK(text_of(record.parts[0].bytes) == "words");
  CHECK(record.parts[0].encoding == Encoding::text);
  CHECK(record.parts[1].dtype == DType::i32);
  CHECK(Shape(record.parts[1].shape.begin(), record.parts[1].shape.end()) == Shape{2, 2});
  std::vector<std::int32_t> values(4);
  std::memcpy(values.data(), record.parts[1].bytes.data(), 16);
  CHECK(values == std::vector{1, 2, 3, 4});
  CHECK(text_of(record.parts[2].bytes) == "sound");
  CHECK(record.parts[2].encoding == Encoding::audio);
  CHECK(record.parts[3].encoding == Encoding::image);
  const auto lacking = set->read(1, buffer);
  CHECK(lacking.parts[1].bytes.empty());
  CHECK(Shape(lacking.parts[1].shape.begin(), lacking.parts[1].shape.end()) == Shape{0, 0});
  CHECK_FALSE(set->outline(0, *std::make_unique<Record>(), buffer));
  CHECK(set->parts()[1].shape == Shape{-1, -1});
}

TEST_CASE("manifest: files of columns that no field names are not read, and a record then has an outline") {
  TempFolder temp;
  temp.write("a.jpg", "picture");
  temp.write("a.txt", "words");
  const auto path = temp.write("list.csv", "image,audio,file,text,label\na.jpg,gone.wav,a.txt,\"a dog\",dog\n");
  ReadBuffer buffer;
  const auto names_of = [&](const Texts& used) {
    const auto set = open(path, {}, true, used);
    return join(set->parts(), " ", [](const PartForm& form) { return form.name; });
  };
  CHECK_THROWS_AS(open(path)->read(0, buffer), SampleError);
  CHECK(names_of({"text"}) == "text");
  CHECK(names_of({"file"}) == "file text");
  CHECK(names_of({}) == "text");
  CHECK(names_of({"image", "text"}) == "text");
  CHECK(names_of({"txet"}) == "audio file text");  // the error for it lists all
  const auto set = open(path, {}, true, {"text"});
  const auto record = set->read(0, buffer);
  CHECK(text_of(record.bytes) == "picture");
  CHECK(text_of(record.part("text")->bytes) == "a dog");
  Record outline;
  REQUIRE(set->outline(0, outline, buffer));
  CHECK(outline.part("text")->shape[0] == 5);
  CHECK_FALSE(open(path, {}, true, {"file"})->outline(0, outline, buffer));
}

TEST_CASE("manifest: a text in a file that is not UTF-8 is a bad sample, named with its byte") {
  TempFolder temp;
  const auto good = temp.write("good.txt", "caf\xc3\xa9"), bad = temp.write("bad.txt", "a caf\xe9");
  const auto path = temp.write("list.csv", "file,label\ngood.txt,a\nbad.txt,b\n");
  const auto set = open(path);
  ReadBuffer buffer;
  CHECK(text_of(set->read(0, buffer).part("file")->bytes) == "caf\xc3\xa9");
  CHECK(std::string(failure_of<SampleError>([&] { set->read(1, buffer); }).what()) ==
        path.string() + ":3: " + bad.string() + ": the text 'file' is not UTF-8 at byte 5");
}

TEST_CASE("manifest: a warm read allocates nothing in its buffer") {
  TempFolder temp;
  for (const char* name : {"a", "b", "c"}) temp.write(std::string(name) + ".txt", std::string(100, *name));
  const auto path = temp.write("list.jsonl",
                               "{\"file\": \"a.txt\", \"n\": [1]}\n{\"file\": \"b.txt\", \"n\": [1, 2]}\n"
                               "{\"file\": \"c.txt\", \"n\": []}\n");
  const auto set = open(path);
  ReadBuffer buffer;
  set->read(1, buffer);
  const auto* bytes = buffer.bytes.data();
  const auto* parts = buffer.parts.data();
  const auto* shapes = buffer.shapes.data();
  for (std::uint64_t id = 0; id < 3; ++id) {
    const auto record = set->read(id, buffer);
    CHECK(text_of(record.parts[0].bytes) == std::string(100, static_cast<char>('a' + id)));
  }
  CHECK(buffer.bytes.data() == bytes);
  CHECK(buffer.parts.data() == parts);
  CHECK(buffer.shapes.data() == shapes);
}

TEST_CASE("manifest: classes are names, indices, or those that the configuration names") {
  TempFolder temp;
  const auto labels = [&](const std::string& text, Values values = {}) {
    const auto set = open(temp.write("a.csv", text), std::move(values));
    std::vector<std::int64_t> all;
    for (std::uint64_t id = 0; id < set->size(); ++id) all.push_back(set->label(id));
    return std::pair(all, set->classes());
  };
  using Labels = std::vector<std::int64_t>;
  CHECK(labels("t,class\nx,2\ny,0\n") == std::pair(Labels{2, 0}, Texts{"0", "1", "2"}));
  CHECK(labels("t,kind\nx,b\ny,a\n", {{"label", "kind"}}) == std::pair(Labels{1, 0}, Texts{"a", "b"}));
  CHECK(labels("t,label\nx,b\ny,a\n", {{"class_names", Texts{"b", "a", "c"}}}) ==
        std::pair(Labels{0, 1}, Texts{"b", "a", "c"}));
  CHECK(labels("t,label\nx,1\ny,0\n", {{"class_names", Texts{"no", "yes"}}}) ==
        std::pair(Labels{1, 0}, Texts{"no", "yes"}));
  CHECK(labels("t,label\nx,10\ny,7\n", {{"class_names", Texts{"7", "10"}}}) ==
        std::pair(Labels{1, 0}, Texts{"7", "10"}));
  // Whether integers are names or indices is told by the names alone.
  CHECK(labels("t,label\nx,2\ny,1\n", {{"class_names", Texts{"1", "2", "3"}}}) ==
        std::pair(Labels{1, 0}, Texts{"1", "2", "3"}));
  check_failure(failure_of([&] {
                  labels("t,label\nx,0\ny,1\n", {{"class_names", Texts{"1", "2", "3"}}});
                }),
                ExitCode::data, "a.csv:2: column 'label': '0' is no class of data.class_names");
  CHECK(std::string(failure_of([&] {
                      labels("t,label\nx,a\n", {{"class_names", Texts{"a", "a", "c"}}});
                    }).what()) == "test.toml:1:1: data.class_names: a name occurs twice: 'a'");
  CHECK(labels("t,label\nx,b\ny,a\n", {{"label", ""}}) == std::pair(Labels{-1, -1}, Texts{}));
  CHECK(labels("t,label\nx,0.5\ny,1.5\n") == std::pair(Labels{-1, -1}, Texts{}));  // no classes, but numbers
  const auto several =
      open(temp.write("b.csv", "t,tags\nx,red; green\ny,\nz,blue|red\nw,\"[\"\"red\"\"]\"\n"), {{"labels", "tags"}});
  CHECK(several->classes() == Texts{"blue", "green", "red"});
  CHECK(shown(*several, 0) == "t=x; tags=i64 (2): 2, 1");
  CHECK(shown(*several, 1) == "t=y; tags=i64 (0): ");
  CHECK(shown(*several, 2) == "t=z; tags=i64 (2): 0, 2");
  CHECK(shown(*several, 3) == "t=w; tags=i64 (1): 2");
}

TEST_CASE("manifest: tables and folders are divided by the usual names of splits") {
  TempFolder temp;
  temp.write("d/train.csv", "t\na\nb\n");
  temp.write("d/val.jsonl", "{\"t\": \"c\"}\n");
  temp.write("d/test.csv", "t\nd\n");
  CHECK(open(temp.path() / "d")->size() == 2);
  CHECK(shown(*open(temp.path() / "d", {}, false), 0) == "t=c");
  CHECK(shown(*open(temp.path() / "d", {{"split", "test"}}), 0) == "t=d");
  temp.write("e/train/metadata.csv", "t\na\nb\n");
  temp.write("e/test/metadata.csv", "t\nc\n");
  CHECK(open(temp.path() / "e")->size() == 2);
  CHECK(open(temp.path() / "e", {}, false)->size() == 1);
  temp.write("f/one.csv", "t\na\n");
  CHECK(open(temp.path() / "f")->size() == 1);
  temp.write("f/two.csv", "t\na\n");
  CHECK(std::string(failure_of([&] { open(temp.path() / "f"); }).what()) ==
        "test.toml:1:1: data.path: there are several tables in " + (temp.path() / "f").string() + ": " +
            (temp.path() / "f/one.csv").string() + ", " + (temp.path() / "f/two.csv").string());
}

TEST_CASE("manifest: a list of what is held out is no table, and tables beside folders of splits are told") {
  TempFolder temp;
  for (const std::string name : {"train.csv", "data.csv"}) {
    CAPTURE(name);
    const auto folder = name.substr(0, name.find('.')) + "/";
    temp.write(folder + name, "t\na\nb\n");
    temp.write(folder + "val_share-0.1.tsv", "split\tname\ntraining\ta\nsamples\t1\n");
    temp.write(folder + name + ".val_share-0.1.tsv", "split\tname\ntraining\ta\nsamples\t1\n");
    for (const bool training : {true, false}) CHECK(open(temp.path() / folder, {}, training)->size() == 2);
  }
  temp.write("d/train/a.csv", "t\na\n");
  temp.write("d/val/a.csv", "t\nb\n");
  temp.write("d/root.csv", "t\nc\n");
  const auto set = open(temp.path() / "d");
  CHECK(dynamic_cast<const NamedDataset&>(*set).notes() == Texts{"not used: the files root"});
}

TEST_CASE("manifest: JSON's true and false are numbers in columns of flags, and texts beside texts") {
  TempFolder temp;
  const auto flags = open(temp.write("a.jsonl", "{\"a\": true, \"b\": true}\n{\"a\": false, \"b\": 2}\n{}\n"));
  CHECK(shown(*flags, 0) == "a=i64 (): 1; b=i64 (): 1");
  CHECK(shown(*flags, 1) == "a=i64 (): 0; b=i64 (): 2");
  const auto texts = open(temp.write("b.jsonl", "{\"a\": true}\n{\"a\": \"maybe\"}\n{\"a\": false}\n"));
  CHECK(shown(*texts, 0) == "a=true");
  CHECK(shown(*texts, 2) == "a=false");
}

TEST_CASE("manifest: what is wrong is named with its line and column") {
  TempFolder temp;
  const auto says = [&](const std::string& name, const std::string& text, Values values = {}) {
    const auto path = temp.write(name, text);
    std::string what = failure_of([&] { open(path, std::move(values)); }).what();
    if (const auto at = what.find(path.string()); at != what.npos) what.replace(at, path.string().size(), "FILE");
    return what;
  };
  CHECK(says("a.csv", "") == "FILE: the file is empty");
  CHECK(says("a.csv", "a,b\n") == "FILE: the table has no rows");
  CHECK(says("a.csv", "a,a\n") == "FILE:1: two columns are called 'a'");
  CHECK(says("a.csv", "a,,b\n") == "FILE:1: column 2 of the header has no name");
  CHECK(says("a.csv", "a,b\n1,2\n\"x\ny\",1,2\n") == "FILE:3: the row has 3 cells, but the header names 2 columns");
  CHECK(says("a.csv", "a,b\n1,2\n1\n") == "FILE:3: the row has 1 cell, but the header names 2 columns");
  CHECK(says("a.csv", "a,b\n1,\"2\n\n") == "FILE:2: the quote that begins here has no end");
  CHECK(says("a.csv", "a,b\n1,\"2\"3\n") == "FILE:2: a cell goes on after its closing quote");
  CHECK(says("a.csv", "a,b\n1,\xff\n") == "FILE:2: column 'b': the text is not UTF-8 at byte 0");
  CHECK(says("a.csv", std::string("\xff\xfe"
                                  "a\0",
                                  4)) == "FILE: its first line is not UTF-8 (it looks like UTF-16)");
  CHECK(says("a.csv", "a,b\n1,1e300\n") == "FILE:2: column 'b': the number 1e300 is beyond f32");
  CHECK(says("a.csv", "a,label\n1,x\n2,\n") == "FILE:3: column 'label': it is empty, but other rows have a class");
  CHECK(says("a.csv", "a,size\n1,2\n2,2.5\n", {{"label", "size"}}) ==
        "FILE:3: column 'size': 2.5 is no class, which is a text or an integer");
  CHECK(says("a.csv", "a,label\n1,-1\n") == "FILE:2: column 'label': class -1 is not within 0 to 1048575");
  CHECK(says("a.csv", "a,label\n1,dgo\n", {{"class_names", Texts{"cat", "dog"}}}) ==
        "FILE:2: column 'label': 'dgo' is no class of data.class_names");
  CHECK(says("a.csv", "a,label\n1,2\n", {{"class_names", Texts{"cat", "dog"}}}) ==
        "FILE:2: column 'label': class 2 is not within 0 to 1");
  CHECK(says("a.csv", "a,tags\n1,[2\n", {{"labels", "tags"}}) == "FILE:2: column 'tags': [2 is no list of classes");
  CHECK(says("a.csv", "image\n../a.jpg\n") == "FILE:2: column 'image': ../a.jpg leads out of the manifest's folder");
  CHECK(says("a.csv", "image\nhttps://example.org/a.jpg\n") ==
        "FILE:2: column 'image': https://example.org/a.jpg is on a server");
  CHECK(says("a.csv", "image\na.jpg\n", {{"label", "lable"}}) ==
        "test.toml:1:1: data.label: FILE has no column 'lable'");
  CHECK(says("a.csv", "image\na.jpg\n", {{"files", Texts{"picture"}}}) ==
        "test.toml:1:1: data.files: FILE has no column 'picture'");
  CHECK(says("a.csv", "array\nnone.npy\n", {{"files", Texts{"array"}}}) ==
        "FILE:2: column 'array': " + (temp.path() / "none.npy").string() + ": No such file or directory");
  CHECK(says("a.txt", "a\n1\n") ==
        "test.toml:1:1: data.path: FILE is no .csv or .tsv or .jsonl or .ndjson or .parquet");

  CHECK(says("a.jsonl", "{\"a\": 1}\n{\"a\": }\n") == "FILE:2: malformed JSON at byte 7: Invalid value");
  CHECK(says("a.jsonl", "{\"a\": 1}\n[1]\n") == "FILE:2: the line is no object");
  CHECK(says("a.jsonl", "{\"a\": 1, \"a\": 2}\n") == "FILE:1: 'a' occurs twice");
  CHECK(says("a.jsonl", "{\"a\": 1} {\"a\": 2}\n") ==
        "FILE:1: malformed JSON at byte 10: The document root must not be followed by other values");
  CHECK(says("a.jsonl", "{\"a\": " + std::string(200, '[') + "\n") == "FILE:1: nested deeper than 100");
  CHECK(says("a.jsonl", "{\"a\": \"\\ud800\"}\n").starts_with("FILE:1: malformed JSON at byte "));
  CHECK(says("a.jsonl", "{\"a\": 1e999}\n") ==
        "FILE:1: malformed JSON at byte 7: Number too big to be stored in double");
  CHECK(says("a.jsonl", "{\"a\": 1}\n" + std::string("{\"a\": 1}\0x\n", 11)) ==
        "FILE:2: malformed JSON at byte 9: a zero byte");
}

TEST_CASE("manifest: a file that does not exist is a bad sample of its line") {
  TempFolder temp;
  temp.write("d/a.jpg", "a");
  const auto path = temp.write("d/list.csv", "image,n\na.jpg,1\n./b.jpg,2\n");
  const auto set = open(path);
  ReadBuffer buffer;
  CHECK_NOTHROW(set->read(0, buffer));
  CHECK(std::string(failure_of<SampleError>([&] { set->read(1, buffer); }).what()) ==
        path.string() + ":3: " + (temp.path() / "d/./b.jpg").string() + ": No such file or directory");
}

TEST_CASE("manifest: the fingerprint is that of the table's bytes") {
  TempFolder temp;
  const auto first = open(temp.write("a.csv", "t\na\n"))->fingerprint();
  CHECK(open(temp.write("b.csv", "t\na\n"))->fingerprint() == first);
  CHECK(open(temp.write("b.csv", "t\nb\n"))->fingerprint() != first);
}

TEST_CASE("manifest: the version is another one where a file of a column was written again") {
  TempFolder temp;
  temp.write("1.txt", "one");
  const auto path = temp.write("a.csv", "path\n1.txt\n");
  const auto set = open(path);
  const auto fingerprint = set->fingerprint(), version = set->version();
  CHECK(open(path)->version() == version);
  temp.write("1.txt", "another");
  CHECK(set->fingerprint() == fingerprint);
  CHECK(set->version() != version);
}

}  // namespace
TEST_CASE("manifest: a table on a server is read whole, unless it names files") {
  const std::map<std::string, std::string> files{
      {"/a.jsonl", "{\"text\": \"one\", \"n\": 1}\n{\"text\": \"two\", \"n\": 2}\n"},
      {"/b.csv", "image,label\na.jpg,cat\n"}};
  HttpServer server([&](const HttpServer::Request& request, int) {
    const auto found = files.find(request.target.substr(0, request.target.find('?')));
    return found == files.end() ? HttpServer::Reply{.status = 404} : HttpServer::range_of(found->second, request);
  });
  const auto set = open_url(server.url("a.jsonl?key=secret"));
  REQUIRE(set->size() == 2);
  CHECK(shown(*set, 1) == "text=two; n=i64 (): 2");
  CHECK(set->describe(1) == server.url("a.jsonl") + ":2");
  check_failure(failure_of([&] { open_url(server.url("b.csv")); }), ExitCode::data,
                "and files that a table names are read beside a local one alone");
  check_failure(failure_of([&] { open_url(server.url("none.csv")); }), ExitCode::data, "none.csv: ");
  check_failure(failure_of([&] { open_url(server.url("a.txt")); }), ExitCode::data, "a.txt is no ");
}

}  // namespace flowtrain::manifest_test
