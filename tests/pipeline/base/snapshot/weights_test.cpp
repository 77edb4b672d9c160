#include "pipeline/base/snapshot/weights.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "pipeline/base/snapshot/weights_file.h"
#include "sampling/core/text.h"
#include "tests/support/failure_helper.h"
#include "tests/support/paths.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::weights_test {

using namespace flowtrain::test;

TEST_CASE("weights: matched, missing, unexpected, misshapen") {
  Tensor conv("module.conv.weight", "F32", {3, 2}), bias("module.conv.bias", "F16", {3}), fc("fc.weight", "F32", {4}),
      steps("steps", "I64", {}), extra("extra", "U8", {1});
  const std::vector<TensorView> file = {conv.view, bias.view, fc.view, steps.view, extra.view};
  const std::vector<WantedTensor> wanted = {{"conv.bias", "F32", {3}},
                                            {"conv.weight", "F32", {3, 2}},
                                            {"fc.weight", "F32", {5}},
                                            {"fc.bias", "F32", {5}},
                                            {"steps", "I32", {}}};
  const auto match = match_weights(file, wanted);
  REQUIRE(match.matched.size() == 2);
  CHECK(match.matched[0].wanted == 0);
  CHECK(match.matched[0].source.dtype == "F16");
  CHECK(match.matched[1].wanted == 1);
  CHECK(match.matched[1].source.data == conv.view.data);
  CHECK(match.missing == std::vector<std::string>{"fc.bias"});
  CHECK(match.unexpected == std::vector<std::string>{"extra"});
  CHECK(match.misshapen == std::vector<std::string>{"fc.weight: F32 (4,) in the file, F32 (5,) wanted",
                                                    "steps: I64 () in the file, I32 () wanted"});
}

TEST_CASE("weights: a full name wins over one that only ends so") {
  Tensor inner("module.a", "U8", {1}, 1), outer("a", "U8", {1}, 2);
  const std::vector<TensorView> file = {inner.view, outer.view};
  auto match = match_weights(file, std::vector<WantedTensor>{{"a", "U8", {1}}});
  REQUIRE(match.matched.size() == 1);
  CHECK(match.matched[0].source.data == outer.view.data);
  CHECK(match.unexpected == std::vector<std::string>{"module.a"});

  match = match_weights(file, std::vector<WantedTensor>{{"module.a", "U8", {1}}, {"a", "U8", {1}}});
  CHECK(match.matched.size() == 2);
  CHECK(match.unexpected.empty());
}

TEST_CASE("weights: what wraps a net leaves its names as they are in the net") {
  CHECK(unwrapped_name("module.a.b") == "a.b");
  CHECK(unwrapped_name("_orig_mod.a.b") == "a.b");
  CHECK(unwrapped_name("module._orig_mod.a._orig_mod.b") == "a.b");
  CHECK(unwrapped_name("_orig_mod.module.a._fsdp_wrapped_module.b") == "a.b");
  CHECK(unwrapped_name("a._checkpoint_wrapped_module.module.b") == "a.module.b");
  CHECK(unwrapped_name("my_orig_mod.a") == "my_orig_mod.a");
  Tensor compiled("layer._orig_mod.a", "U8", {1}, 1), plain("b", "U8", {1}, 2);
  const std::vector<TensorView> file = {compiled.view, plain.view};
  const auto match = match_weights(file, std::vector<WantedTensor>{{"layer.a", "U8", {1}}, {"_orig_mod.b", "U8", {1}}});
  CHECK(match.matched.size() == 2);
  CHECK(match.unexpected.empty());
}

TEST_CASE("weights: a prefix of all names is found, in the file or in the net") {
  Tensor one("model.net.a", "U8", {1}, 1), other("model.net.b", "U8", {1}, 2), third("loss.a", "U8", {1}, 3);
  const std::vector<TensorView> file = {one.view, other.view, third.view};
  const auto found = name_prefix(file, std::vector<WantedTensor>{{"a", "U8", {1}}, {"b", "U8", {1}}});
  CHECK(found.text == "model.net.");
  CHECK(found.of_file);
  CHECK(found.fit == 2);
  const auto longer = name_prefix(
      file, std::vector<WantedTensor>{{"x.model.net.a", "U8", {1}}, {"x.model.net.b", "U8", {1}}, {"c", "U8", {1}}});
  CHECK(longer.text == "x.");
  CHECK_FALSE(longer.of_file);
  CHECK(longer.fit == 2);
  CHECK(name_prefix(file, std::vector<WantedTensor>{{"other", "U8", {1}}}).fit == 0);
}

TEST_CASE("weights: a prefix is added or removed without being asked if all names fit only so") {
  Tensor one("h.a", "U8", {1}, 1), other("h.b", "U8", {1}, 2);
  const auto names = [&](const std::vector<WantedTensor>& wanted) {
    std::vector<TensorView> file{one.view, other.view};
    fit_prefix(file, wanted);
    return file[0].name + " " + file[1].name;
  };
  CHECK(names({{"net.h.a", "U8", {1}}, {"net.h.b", "U8", {1}}}) == "net.h.a net.h.b");
  CHECK(names({{"a", "U8", {1}}, {"b", "U8", {1}}}) == "a b");
  CHECK(names({{"a", "U8", {1}}, {"b", "U8", {1}}, {"c", "U8", {1}}}) == "h.a h.b");
  CHECK(names({{"h.h.a", "U8", {1}}, {"h.b", "U8", {2}}}) == "h.a h.b");
}

TEST_CASE("weights: two prefixes that fit equally well are refused with both names") {
  Tensor one("teacher.a", "U8", {1}, 1), other("student.a", "U8", {1}, 2), third("ema.student.a", "U8", {1}, 3);
  std::vector<TensorView> file{one.view, other.view, third.view};
  const std::vector<WantedTensor> wanted{{"a", "U8", {1}}};
  const auto found = name_prefix(file, wanted);
  CHECK(found.text == "ema.student.");
  CHECK(found.fits_as_well == "student.");
  check_failure(failure_of([&] { fit_prefix(file, wanted); }), ExitCode::usage,
                "all names of the net fit in two ways: without the prefix 'ema.student.' or 'student.'");
  CHECK(failure_of([&] { fit_prefix(file, wanted); }).hint() ==
        "choose one: net.pretrain_rename = ['^ema\\.student\\. -> ']");
}

TEST_CASE("weights: stored masks and repeated matrices are not unexpected") {
  Tensor table("wte.weight", "U8", {2, 3}, 1), tied("lm_head.weight", "U8", {2, 3}, 1),
      untied("other.weight", "U8", {2, 3}, 2), mask("h.0.attn.bias", "U8", {1, 1, 4, 4}),
      masked("h.0.attn.masked_bias", "F32", {}), bias("h.0.mlp.bias", "U8", {1, 1, 4, 3});
  const std::vector<TensorView> file{table.view, tied.view, untied.view, mask.view, masked.view, bias.view};
  const auto match = match_weights(file, std::vector<WantedTensor>{{"wte.weight", "U8", {2, 3}}});
  CHECK(match.matched.size() == 1);
  CHECK(match.unexpected == std::vector<std::string>{"other.weight", "h.0.mlp.bias"});
}

TEST_CASE("weights: an index opens the files beside it") {
  const std::string model = source_path("tests/nets/golden/gpt2/model.safetensors.index.json");
  const WeightsFile file(model);
  CHECK(file.tensors().size() == 28);
  CHECK(std::ranges::count(file.tensors(), "transformer.ln_f.bias", &TensorView::name) == 1);
  const auto table = std::ranges::find(file.tensors(), "transformer.wte.weight", &TensorView::name);
  REQUIRE(table != file.tensors().end());
  CHECK(table->shape == std::vector<std::int64_t>{61, 16});
  CHECK(table->bytes == 61 * 16 * 4);

  TempFolder folder;
  Tensor a("a", "U8", {1}, 1);
  {
    File part = File::create(folder / "part");
    write_safetensors(part, std::vector<TensorView>{a.view});
  }
  const auto refused = [&](const std::string& map) {
    put(folder / "index.json", R"({"metadata": {}, "weight_map": )" + map + "}");
    return message_of([&] { WeightsFile(folder / "index.json"); });
  };
  put(folder / "whole.json", R"({"weight_map": {"a": "part"}})");
  CHECK(WeightsFile(folder / "whole.json").tensors().size() == 1);
  CHECK(contains(refused(R"({"a": "part", "b": "part-2"})"), "index.json: the file 'part-2' is not beside the index"));
  CHECK(contains(refused(R"({"a": "part", "b": "part"})"), "tensor 'b' is not in 'part', as the index says"));
  for (const char* name : {"../part", "/etc/passwd", ".", "", "sub/part"})
    CHECK(contains(refused(concat(R"({"a": ")", name, R"("})")), "expected the name of a file beside the index"));
  CHECK(contains(refused("7"), "a damaged index: weight_map is no object"));
  CHECK(contains(refused("{"), "a damaged index"));
}

}  // namespace flowtrain::weights_test
