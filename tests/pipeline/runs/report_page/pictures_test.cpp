#include "pipeline/runs/report_page/pictures.h"

#include <doctest/doctest.h>

#include "tests/pipeline/runs/report_page/run_files.h"

namespace flowtrain::pictures_test {

using namespace flowtrain::testing;

TEST_CASE("base64: RFC 4648's examples, and bytes above 127") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("pictures: within the budget the newest, the first and the middle are embedded, others are links") {
  TempFolder folder;
  const std::string png = png_header();
  for (int i = 1; i <= 5; ++i) {
    const std::string at = "run/pictures/iter-0000000" + std::to_string(i);
    folder.write(at + "/00.png", png);
    folder.write(at + "/pictures.json",
                 ordered_json{{"iter", i}, {"samples", {{{"file", "00.png"}, {"id", 1}}}}}.dump());
  }
  folder.write("run/pictures/iter-00000006/half", "");  // its pictures.json is still to come
  const auto pictures = pictures_of(folder.path() / "run", "../run/", 3 * png.size());
  REQUIRE(pictures.size() == 5);
  const auto src = [&](int i) {
    return pictures[static_cast<std::size_t>(i - 1)]["samples"][0]["src"].get<std::string>();
  };
  for (const int embedded : {1, 3, 5}) CHECK(src(embedded).starts_with("data:image/png;base64,"));
  CHECK(src(2) == "../run/pictures/iter-00000002/00.png");
  CHECK(src(4) == "../run/pictures/iter-00000004/00.png");
}

TEST_CASE("pictures: fields keep their texts, and their pictures are embedded") {
  TempFolder folder;
  folder.write("run/pictures/iter-00000010/00.spectrum.png", png_header());
  folder.write("run/pictures/iter-00000010/pictures.json",
               R"({"iter": 10, "samples": [{"id": 1, "fields": [{"name": "caption", "text": "<b>"}, 3,
                   {"name": "spectrum", "file": "00.spectrum.png"}, {"name": "far", "file": "../../secret.png"}]}]})");
  const auto pictures = pictures_of(folder.path() / "run", "", 1000);
  const auto& fields = pictures.at(0).at("samples").at(0).at("fields");
  REQUIRE(fields.size() == 3);
  CHECK(fields[0].at("text") == "<b>");
  CHECK(fields[1].at("src").get<std::string>().starts_with("data:image/png;base64,"));
  CHECK_FALSE(fields[2].contains("src"));
}

TEST_CASE("pictures: other sets have folders of their own, and a net may make pictures") {
  TempFolder folder;
  for (const std::string at : {"run/pictures/iter-00000010/", "run/pictures/iter-00000010/night/"}) {
    folder.write(at + "00-prediction.png", png_header());
    folder.write(
        at + "pictures.json",
        ordered_json{{"iter", 10}, {"set", at}, {"samples", {{{"prediction_file", "00-prediction.png"}}}}}.dump());
  }
  const auto pictures = pictures_of(folder.path() / "run", "", 1000);
  REQUIRE(pictures.size() == 2);
  CHECK(pictures[1]["set"] == "run/pictures/iter-00000010/night/");
  for (auto& each : pictures) {
    CHECK(each["samples"][0]["prediction_src"].get<std::string>().starts_with("data:image/png;base64,"));
    CHECK(each["samples"][0]["width"] == 3);
    CHECK(!each["samples"][0].contains("src"));
  }
}

}  // namespace flowtrain::pictures_test
