// Configurations, annotations and JSON.

#include "pipeline/base/snapshot/hash.h"
#include "tests/fuzz/hostile/hostile.h"

namespace flowtrain::hostile {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

void add_configurations(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const std::string& bytes) {
    cases.push_back({"config: " + what, "config", bytes});
  };
  constexpr std::size_t deep = 100'000;
  add("10^5 lists deep", "a = " + repeated("[", deep) + repeated("]", deep));
  add("10^5 lists deep, open", "a = " + repeated("[", deep));
  add("10^5 tables deep", "a = " + repeated("{a=", deep) + "1" + repeated("}", deep));
  add("a key of 10^5 parts", "a" + repeated(".a", deep) + " = 1");
  add("a quoted key of 10^5 parts", "\"a\"" + repeated(".\"#\"", deep) + " = 1");
  add("a key of 10^5 parts after a comment sign in quotes", "'#'" + repeated(" . '='", deep) + " = 1");
  add("a table of 10^5 parts", "[a" + repeated(".a", deep) + "]");
  add("a list's table of 10^5 parts", "[[a" + repeated(".a", deep) + "]]");
  add("a long key in a table", "[a.b.c.d]\ne" + repeated(".f", deep) + " = 1");
  add("a long key in lists", "a = [[{b" + repeated(".c", deep) + " = 1}]]");
  add("a long key after a text of many lines", "a = \"\"\"\n# \\\"\"\"\" \n\"\"\"\nb" + repeated(".c", deep) + " = 1");
  add("keys in keys", "a = {" + repeated("b.c.d.e = {", 200) + repeated("}", 200) + "}");
  add("100 MiB", repeated("# a comment\n", (100 << 20) / 12));
  add("1 MiB of keys", repeated("k", 1 << 20));
  std::string keys;
  for (int i = 0; keys.size() < 1'000'000; ++i) keys.append("k").append(std::to_string(i)).append("=1\n");
  add("130,000 keys", keys);
  std::string tables;
  for (int i = 0; tables.size() < 1'000'000; ++i) tables += "[t" + std::to_string(i) + "]\n";
  add("100,000 tables", tables);
  add("a list of 500,000", "a = [" + repeated("1,", 500'000) + "]");
  for (const char* base : {"\"/dev/zero\"", "\"/dev/stdin\"", "\"/dev/tty\"", "\"/proc/self/mem\"", "\"/\"", "\".\"",
                           "\"\"", "\"../../up.toml\"", "\"a.toml\"", "1", "[]", "{}"})
    add(std::string("base ") + base, std::string("base = [") + base + "]\nx = 1\n");
  add("base of itself", "base = [\"file\"]");
  add("base that is no list", "base = \"file\"");
  add("1,000 bases", "base = [" + repeated("\"/dev/null\",", 1000) + "]");
  for (const char* name : {"../x", "/tmp/x", "a/b", "..", ".", "", "a\\nb", "\\u0000"})
    add(std::string("name ") + name, std::string("name = \"") + name + "\"\n[data]\ndataset = \"shapes\"\n");
  add("a zero byte", std::string("a = 1\0", 6));
  add("no UTF-8", "a = \"\xff\xfe\"");
  add("half a character", "a = \"\xf0\x9f");
  add("a surrogate", "a = \"\\ud800\"");
  for (const char* value : {"9223372036854775808", "1e999", "0x", "1979-05-27", "inf", "nan", "-1", "[1, 'a']", "{}"})
    add(std::string("batch = ") + value, std::string("[data]\ndataset = \"shapes\"\n[loader]\nbatch = ") + value);
}

void add_annotations(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const std::string& bytes) {
    cases.push_back({"XML: " + what, "voc", bytes});
  };
  std::string entities = "<!DOCTYPE a [<!ENTITY e0 \"lol\">";
  for (int i = 1; i < 20; ++i)
    entities += "<!ENTITY e" + std::to_string(i) + " \"" + repeated("&e" + std::to_string(i - 1) + ";", 10) + "\">";
  const auto object = [](const std::string& value) {
    return "<annotation><object><name>a</name><bndbox><xmin>" + value + "</xmin></bndbox></object></annotation>";
  };
  add("entities of 10^19 bytes", entities + "]>" + object("&e19;"));
  add("an entity of itself", "<!DOCTYPE a [<!ENTITY a \"&a;\">]>" + object("&a;"));
  add("an entity of a file", "<!DOCTYPE a [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>" + object("&a;"));
  add("an entity of a device", "<!DOCTYPE a [<!ENTITY a SYSTEM \"file:///dev/zero\">]>" + object("&a;"));
  add("10^5 deep", "<annotation>" + repeated("<a>", 100'000));
  add("10^5 deep, closed, and no number", repeated("<a>", 100'000) + repeated("</a>", 100'000) + object("x"));
  add("10^5 deep within an object",
      "<annotation><object>" + repeated("<a>", 100'000) + repeated("</a>", 100'000) + "</object></annotation>");
  add("10^5 attributes", "<annotation " + repeated("a='' ", 100'000) + "><object/></annotation>");
  add("4 MiB", repeated("<annotation/>", (4 << 20) / 13));
  for (const char* value : {"1e999", "nan", "inf", "0x10", "-", "", "1,5", "99999999999999999999", "1 2"})
    add(std::string("number ") + value, object(value));
  add("no UTF-16", "\xff\xfe<");
  add("no end", "<annotation><![CDATA[");
  add("a document type without an end", "<!DOCTYPE [" + repeated("<", 100'000));
}

void add_coco(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const std::string& bytes) {
    cases.push_back({"COCO: " + what, "coco", bytes});
  };
  const std::string images = R"({"images": [{"id": 1, "file_name": "a"}], )";
  const std::string one_box = R"("id": 1, "bbox": [1, 1, 1, 1])";
  add("10^5 lists deep", repeated("[", 100'000));
  add("10^5 lists deep in a polygon", images + R"("annotations": [{"segmentation": )" + repeated("[", 100'000));
  add("10^5 objects deep", repeated("{\"a\":", 100'000));
  add("100 MiB of a name", R"({"images": [{"id": 1, "file_name": ")" + repeated("x", 100 << 20));
  add("100 MiB of a key", "{\"" + repeated("x", 100 << 20));
  add("100 MiB of a polygon", images + R"("annotations": [{"segmentation": [)" + repeated("1.25,", 20 << 20));
  add("100 MiB of a box", images + R"("annotations": [{"bbox": [)" + repeated("1.25,", 20 << 20));
  add("a box of 10^6 lists", images + R"("annotations": [{"bbox": [)" + repeated("[],", 1'000'000) + "1]}]}");
  add("a number of 10^6 digits", R"({"images": [{"id": )" + repeated("9", 1'000'000) + "}]}");
  add("10^5 lists of images", "{" + repeated("\"images\": [],", 100'000) + "\"categories\": []}");
  add("10^5 images of one id", "{\"images\": [" + repeated("{\"id\":1,\"file_name\":\"a\"},", 100'000) +
                                   "{\"id\":1,\"file_name\":\"a\"}],\"categories\":[]}");
  add("a category nobody knows",
      images + R"("categories": [], "annotations": [{"image_id": 1, "category_id": 1, )" + one_box + "}]}");
  add("an image nobody knows",
      R"({"images": [], "annotations": [{"image_id": 1, "category_id": 1, )" + one_box + R"(}], "categories": []})");
  for (const char* value : {"1e999", "NaN", "-Infinity", "0x10", "\"1\"", "null", "{}", "1e300"})
    add(std::string("a width of ") + value,
        images + R"("categories": [{"id": 1, "name": "a"}], "annotations": [{"id": 1, "image_id": 1, )" +
            R"("category_id": 1, "bbox": [1, 1, )" + value + ", 1]}]}");
  add("no UTF-8", "{\"images\": [{\"id\": 1, \"file_name\": \"\xff\"}]}");
  add("half a surrogate pair", R"({"images": [{"id": 1, "file_name": "\ud800"}]})");
}

void add_json(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const std::string& bytes) {
    cases.push_back({"state.json: " + what, "state", bytes});
    cases.push_back({"manifest: " + what, "manifest", bytes});
    const auto sealed = bytes + ",\n \"xxh64\": \"" + xxh64_hex(bytes) + "\"\n}\n";
    cases.push_back({"manifest with the right hash: " + what, "manifest", sealed});
  };
  add("10^5 lists deep", repeated("[", 100'000) + repeated("]", 100'000));
  add("10^5 objects deep", repeated("{\"a\":", 100'000));
  add("a number of 10^5 digits", "{\"version\": 1, \"iteration\": " + repeated("9", 100'000));
  add("10^5 members", repeated("{\"a\":1,", 1) + repeated("\"a\":1,", 100'000) + "\"version\": 1");
  add("a version of the future", "{\"version\": 2");
  add("names that lead out", R"({"version": 1, "iteration": 1, "files": {"../../../etc/passwd": {}})");
  add("no UTF-8", "{\"\xff\": 1");
  add("negative counts", R"({"version": 1, "iteration": -1, "samples_per_epoch": -1, "files": {})");
  add("huge counts", R"({"version": 1, "iteration": 1e300, "samples_per_epoch": 1e300, "files": {})");
}

}  // namespace

std::vector<Case> texts() {
  std::vector<Case> cases;
  add_configurations(cases);
  add_annotations(cases);
  add_coco(cases);
  add_json(cases);
  return cases;
}

}  // namespace flowtrain::hostile
