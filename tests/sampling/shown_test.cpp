// Values as people see them.

#include "sampling/shown.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "sampling/audio/sound.h"
#include "sampling/core/error.h"
#include "sampling/core/registry.h"
#include "sampling/core/settings.h"
#include "sampling/plans/packed_sampler.h"
#include "sampling/samplers/stored.h"
#include "sampling/transform.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/sounds.h"

namespace flowtrain::shown_test {
namespace {

template <class Number>
Shown shown(const Field& field, const std::vector<Number>& values) {
  return show(field, std::as_bytes(std::span(values)));
}

std::vector<std::uint8_t> letters(const std::string& text) { return {text.begin(), text.end()}; }

/// Records with the part `from`, of two classes.
struct PartDataset : MemoryDataset {
  explicit PartDataset(PartForm part) : MemoryDataset({}), form(std::move(part)) {}
  std::vector<PartForm> parts() const override { return {form}; }
  std::vector<std::string> classes() const override { return {"cat", "a \x1b[31mdog"}; }

  PartForm form;
};

using Values = std::vector<std::pair<std::string, Value>>;

std::unique_ptr<Transform> transform_of(const std::string& as, const PartForm& from, const Values& values = {}) {
  const PartDataset dataset(from);
  std::vector<Key> keys{
      {"name", Kind::text, std::string("field"), ""}, {"from", Kind::text, from.name, ""}, {"as", Kind::text, as, ""}};
  for (auto& key : transforms().at(as).keys) keys.push_back(key);
  Settings settings("field", keys);
  for (auto& [key, value] : values) settings.set(key, value, {"test"});
  return transforms().at(as).make(settings, {.dataset = dataset, .name = "field", .from = from});
}

Field field_of(const std::string& as, const PartForm& from, const Values& values = {}) {
  return transform_of(as, from, values)->fields().at(0);
}

}  // namespace

TEST_CASE("a text is one line, in UTF-8, of 200 letters, and cannot command a terminal") {
  CHECK(shown_text("a fine cat") == "a fine cat");
  CHECK(shown_text("two\nlines\tand \x1b[31m \x7f") == "two lines and ?[31m ?");
  CHECK(shown_text("caf\xc3\xa9 caf\xe9") == "caf\xc3\xa9 caf\\xE9");
  CHECK(shown_text("\xc2\x9b"
                   "31m \xe2\x80\xae"
                   "turned \xe2\x81\xa6") == "?31m ?turned ?");
  std::string japanese;
  for (int i = 0; i < 300; ++i) japanese += "\xe3\x81\x82";
  CHECK(shown_text(japanese) == japanese.substr(0, 600) + "…");
  CHECK(shown_text(std::string(1'000'000, 'x')) == std::string(200, 'x') + "…");
  CHECK(shown_text(std::string(200, 'x')) == std::string(200, 'x'));
}

TEST_CASE("without a view of its own, a value is shown by its type and shape") {
  CHECK(shown<std::int64_t>({"n", DType::i64, {}}, {7}).text == "7");
  CHECK(shown<float>({"n", DType::f32, {3}}, {1, 2.5, -3}).text == "1, 2.5, -3");
  CHECK(shown<float>({"n", DType::f32, {2, 2}}, {1, 2, 3, 4}).text == "1, 2, 3, 4");
  std::vector<std::int32_t> many(100);
  for (int i = 0; i < 100; ++i) many[static_cast<std::size_t>(i)] = i;
  CHECK(shown<std::int32_t>({"n", DType::i32, {100}}, many).text == "0, 1, 2, 3, 4, 5, 6, 7, … 99 (100 numbers)");
  CHECK(shown<std::int32_t>({"n", DType::i32, {4, 25}}, many).text == "i32 4x25, 0 to 99");
  CHECK(shown<std::int32_t>({"n", DType::i32, {4, 5, 5}}, many).text == "i32 4x5x5, 0 to 99");
  CHECK(shown<std::uint8_t>({"t", DType::u8, {5}}, letters("words")).text == "words");
  CHECK(shown<std::uint8_t>({"t", DType::u8, {3}}, {1, 2, 255}).text == "1, 2, 255");
  CHECK(shown<float>({"n", DType::f32, {0}}, {}).text == "(empty)");

  const auto grey = shown<std::uint8_t>({"p", DType::u8, {1, 3, 1}}, {1, 2, 3});
  CHECK(grey.text.empty());
  CHECK(grey.picture.channels == 1);
  CHECK(grey.picture.pixels == std::vector<std::uint8_t>{1, 2, 3});
  std::vector<float> pixels(8 * 8 * 3, 1);
  pixels[0] = -1, pixels[1] = NAN, pixels[2] = 3;
  const auto finished = shown<float>({"p", DType::f32, {8, 8, 3}}, pixels);
  CHECK(finished.picture.channels == 3);
  CHECK(std::vector(finished.picture.pixels.begin(), finished.picture.pixels.begin() + 4) ==
        std::vector<std::uint8_t>{0, 64, 255, 128});
}

TEST_CASE("a matrix is a heat map from dark blue to yellow, thinned if it is large, with its range") {
  std::vector<float> values(8 * 10, 2);
  values[0] = -1, values[1] = 5, values[2] = NAN;
  const auto map = shown<float>({"spectrum", DType::f32, {1, 8, 10}}, values);
  CHECK(map.text == "f32 1x8x10, -1 to 5");
  CHECK(map.picture.height == 8);
  CHECK(map.picture.width == 10);
  CHECK(std::vector(map.picture.pixels.begin(), map.picture.pixels.begin() + 12) ==
        std::vector<std::uint8_t>{68, 1, 84, 253, 231, 37, 128, 128, 128, 33, 145, 140});
  const std::vector<std::uint8_t> classes(3000 * 8, 1);
  const auto large = shown<std::uint8_t>({"mask", DType::u8, {3000, 8}}, classes);
  CHECK(large.picture.height == 1000);
  CHECK(large.picture.width == 3);
}

TEST_CASE("transforms show classes by name, numbers as stored, and texts") {
  CHECK(shown<std::int64_t>(field_of("label", {"image"}), {1}).text == "a ?[31mdog");
  CHECK(shown<std::int64_t>(field_of("label", {"image"}), {2}).text == "2");
  const PartForm classes{"classes", Encoding::array, DType::i64, {-1}};
  CHECK(shown<float>(field_of("labels", classes), {1, 1}).text == "cat, a ?[31mdog");
  CHECK(shown<float>(field_of("labels", classes), {0, 0}).text == "(none)");
  const PartForm price{"price", Encoding::array, DType::f32, {}};
  CHECK(shown<float>(field_of("number", price, {{"mean", 8.0}, {"stddev", 2.0}}), {-1.375}).text == "5.25 (price)");
  CHECK(shown<std::int64_t>(field_of("number", price, {{"dtype", std::string("i64")}}), {3}).text == "3");
  const PartForm text{"text", Encoding::text};
  CHECK(shown<std::uint8_t>(field_of("bytes", text, {{"max", std::int64_t{9}}}), letters("\x1b!")).text == "?!");
}

TEST_CASE("numbers that are not finite, or that f32 may have rounded, are damage") {
  const PartForm price{"price", Encoding::array, DType::f32, {}};
  const auto number = [&](float value, const Values& keys) {
    const Part part{"price", Encoding::array, std::as_bytes(std::span(&value, 1)), DType::f32, {}};
    std::int64_t made = 0;
    const std::vector<std::byte*> to{reinterpret_cast<std::byte*>(&made)};
    transform_of("number", price, keys)->make({.parts = {&part, 1}}, Stream(1, Purpose::sample, 0), Row(to));
    return made;
  };
  const Values whole{{"dtype", std::string("i64")}};
  CHECK(number(16777215, whole) == 16777215);
  CHECK_THROWS_WITH_AS(number(16777216, whole), doctest::Contains("whose last digits may be lost"), SampleError);
  CHECK_THROWS_WITH_AS(number(std::numeric_limits<float>::quiet_NaN(), {}), doctest::Contains("is no finite number"),
                       SampleError);
}

TEST_CASE("rows are shown without padding, lengths and other groups' fields") {
  const std::vector<Field> fields{{.name = "text", .dtype = DType::u8, .shape = {9}, .free_axes = 1},
                                  {.name = "map", .dtype = DType::i32, .shape = {9, 9, 2}, .free_axes = 2},
                                  {"text_length", DType::i64, {}},
                                  {"map_length", DType::i64, {2}},
                                  {"other", DType::f32, {}}};
  const std::int64_t extents[] = {4, 2, 3};
  const std::vector<std::int32_t> map{1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 0, 0};
  const std::int64_t length = 2, lengths[] = {2, 2};
  const std::vector<std::span<const std::byte>> values{std::as_bytes(std::span("ab\0", 4)),
                                                       std::as_bytes(std::span(map)),
                                                       std::as_bytes(std::span(&length, 1)),
                                                       std::as_bytes(std::span(lengths)),
                                                       {}};
  const auto row = show_row(fields, extents, values);
  REQUIRE(row.size() == 2);
  CHECK(row[0].name == "text");
  CHECK(row[0].shown.text == "ab");
  CHECK(row[1].shown.text == "1, 2, 3, 4, 5, 6, 7, 8");
}

TEST_CASE("a recording can be heard where no field gives a sound") {
  const std::string long_one = wav_of(tone(70 * 100, 1, 100, 10)), noise = "no recording";
  const std::vector<Part> parts{
      {.name = "audio", .encoding = Encoding::audio, .bytes = std::as_bytes(std::span(long_one))},
      {.name = "features", .encoding = Encoding::audio, .bytes = std::as_bytes(std::span(noise))},
      {.name = "text", .encoding = Encoding::text, .bytes = std::as_bytes(std::span(noise))}};
  const Record record{.parts = parts};
  std::vector<ShownField> fields{{"features", {"80 x 3"}}};
  fields = with_recordings(record, std::move(fields));
  REQUIRE(fields.size() == 2);
  CHECK(fields[1].name == "audio");
  CHECK(fields[1].shown.text == "70 s at 100 Hz");
  CHECK(sound_form(fields[1].shown.sound).frames == 60 * 100);
  fields.erase(fields.begin());
  fields = with_recordings(record, std::move(fields));
  CHECK(fields.size() == 1);
}

}  // namespace flowtrain::shown_test
