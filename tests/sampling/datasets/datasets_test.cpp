#include <doctest/doctest.h>

#include "sampling/core/registry.h"
#include "sampling/dataset.h"
#include "sampling/sampler.h"

namespace flowtrain::datasets_test {

TEST_CASE("all data sets are listed, with help and keys that have help") {
  CHECK(datasets().names() == std::vector<std::string>{"arrays", "audio_folder", "cifar", "coco", "common_voice", "idx",
                                                       "image_folder", "kaldi", "librispeech", "manifest", "shapes",
                                                       "tensors", "text", "tokens", "voc", "webdataset"});
  for (const auto& name : datasets().names()) {
    const auto& entry = datasets().at(name);
    CHECK(!entry.help.empty());
    CHECK(entry.make);
    for (const auto& key : entry.keys) CHECK_MESSAGE(!key.help.empty(), (name + "." + key.name));
    CHECK_NOTHROW(Settings("data", entry.keys));
  }
}

TEST_CASE("an unknown data set is refused with the nearest one") {
  try {
    datasets().at("imagefolder");
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(error.what() == std::string("no data set is called 'imagefolder'"));
    CHECK(error.hint().starts_with("did you mean 'image_folder'? known: arrays, audio_folder, cifar, coco"));
    CHECK(error.code() == ExitCode::usage);
  }
}

TEST_CASE("a name can be taken once") {
  Registry<Dataset, DatasetInput> registry("data set");
  registry.add({.name = "a", .help = "", .keys = {}, .make = {}});
  CHECK_THROWS_WITH_AS(registry.add({.name = "a", .help = "", .keys = {}, .make = {}}),
                       "there is already a data set called 'a'", InternalError);
}

TEST_CASE("fields know their names and bytes") {
  CHECK(Field{"label", DType::i64, {}}.row_bytes() == 8);
  CHECK(Field{"image", DType::u8, {28, 30, 3}}.row_bytes() == 28 * 30 * 3);
  CHECK(Field{"boxes", DType::f32, {5, 4}}.row_bytes() == 80);
  CHECK(size_of(DType::i32) == 4);
  CHECK(name_of(DType::u8) == std::string("u8"));
  CHECK(name_of(DType::f32) == std::string("f32"));
}

}  // namespace flowtrain::datasets_test
