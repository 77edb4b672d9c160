#include "pipeline/base/snapshot/torch_archive.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "pipeline/base/snapshot/weights_file.h"
#include "tests/support/paths.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/support/torch_bytes.h"

namespace flowtrain::torch_archive_test {

using namespace flowtrain::test;

namespace {

const PyTensor matrix{{2, 3}, {3, 1}, 0, 6};
const std::string six_floats = le(0.0f) + le(1.0f) + le(2.0f) + le(3.0f) + le(4.0f) + le(5.0f);

std::string pickle_of(const std::string& tensor) { return py_whole(py_dict({{"a", tensor}})); }
std::string good() { return torch_zip(pickle_of(matrix.text()), {{"m/data/0", six_floats}}); }

std::string refusal(const std::string& file) {
  return message_of([&] { parse_torch_weights(bytes_of(file), "f.pth"); });
}
/// Of a file with this one tensor.
std::string tensor_refusal(const PyTensor& tensor) {
  return refusal(torch_zip(pickle_of(tensor.text()), {{"m/data/0", six_floats}}));
}

std::vector<float> floats(const TensorView& tensor) {
  std::vector<float> values(tensor.bytes / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.data, tensor.bytes);
  return values;
}

/// The only tensor of a file, by value.
std::vector<float> only_tensor(const std::string& file) {
  const auto weights = parse_torch_weights(bytes_of(file), "f.pth");
  REQUIRE(weights.tensors.size() == 1);
  CHECK(weights.tensors[0].name == "a");
  return floats(weights.tensors[0]);
}

}  // namespace

TEST_CASE("torch: files that PyTorch wrote, in both containers") {
  for (const char* name : {"zip.pth", "legacy.pth"}) {
    const WeightsFile file(fs::path(test::source_path("tests/pipeline/base/snapshot/data")) / name);
    const auto& tensors = file.tensors();
    REQUIRE(tensors.size() == 7);
    CHECK(tensors[0].name == "weight");
    CHECK(tensors[0].shape == std::vector<std::int64_t>{2, 3});
    CHECK(floats(tensors[0]) == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(tensors[1].name == "weight_t");
    CHECK(tensors[1].shape == std::vector<std::int64_t>{3, 2});
    CHECK(floats(tensors[1]) == std::vector<float>{0, 3, 1, 4, 2, 5});
    CHECK(tensors[2].dtype == "F16");
    CHECK(tensors[3].dtype == "BF16");
    CHECK(tensors[3].bytes == 2);
    CHECK(tensors[4].dtype == "I64");
    CHECK(tensors[4].shape.empty());
    CHECK(tensors[4].data[0] == std::byte{7});
    CHECK(tensors[5].dtype == "BOOL");
    CHECK(floats(tensors[6]) == std::vector<float>{0.25, 0.5});
  }
}

TEST_CASE("torch: windows on storages become row-major") {
  const auto with = [](const PyTensor& tensor) {
    return only_tensor(torch_zip(pickle_of(tensor.text()), {{"m/data/0", six_floats}}));
  };
  CHECK(with(matrix) == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(with({{3, 2}, {1, 3}, 0, 6}) == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(with({{2}, {2}, 1, 6}) == std::vector<float>{1, 3});
  CHECK(with({{2, 1, 2}, {2, 77, 1}, 2, 6}) == std::vector<float>{2, 3, 4, 5});
  CHECK(with({{2, 2}, {0, 1}, 4, 6}) == std::vector<float>{4, 5, 4, 5});
  CHECK(with({{}, {}, 5, 6}) == std::vector<float>{5});
  CHECK(with({{0, 3}, {3, 1}, 0, 6}).empty());
}

TEST_CASE("torch: where the state_dict may be, and what is left out") {
  const std::vector<ZipPart> storage = {{"m/data/0", six_floats}};
  const auto dict = py_dict({{"epoch", "K\x03"}, {"a", matrix.text()}});
  CHECK(only_tensor(torch_zip(py_whole(dict), storage)).size() == 6);
  for (const char* name : {"state_dict", "model", "net", "ema", "params", "any name"})
    CHECK(only_tensor(torch_zip(py_whole(py_dict({{"lr", "N"}, {name, dict}})), storage)).size() == 6);
  CHECK(only_tensor(torch_zip(py_whole(py_dict({{"nets", "](" + py_dict({{"ema", dict}}) + "e"}})), storage)).size() ==
        6);
  for (const char* name : {"module.a", "_orig_mod.a", "module._orig_mod.a", "_orig_mod.module.module.a"})
    CHECK(only_tensor(torch_zip(py_whole(py_dict({{name, matrix.text()}})), storage)).size() == 6);
  const auto mixed = torch_zip(py_whole(py_dict({{"module.a", matrix.text()}, {"b", matrix.text()}})), storage);
  CHECK(parse_torch_weights(bytes_of(mixed), "f").tensors[0].name == "module.a");
  CHECK(contains(refusal(torch_zip(py_whole("N"))), "f.pth: no dict of tensors in it"));
  CHECK(contains(refusal(torch_zip(py_whole(py_dict({{"a", matrix.text()}, {"a", matrix.text()}})), storage)),
                 "tensor 'a' comes twice"));
  CHECK(contains(refusal(torch_zip(py_whole("}K\x01" + matrix.text() + "s"), storage)), "whose name is not text"));
}

TEST_CASE("torch: of several dicts of tensors the one that fits is taken, and a key decides between equal ones") {
  const auto tensor = matrix.text();
  const auto net = py_dict({{"a", tensor}, {"b", tensor}}), other = py_dict({{"x", tensor}, {"y", tensor}});
  const auto file_of = [](const std::string& value) { return torch_zip(py_whole(value), {{"m/data/0", six_floats}}); };
  const auto place = [](const std::string& file, const WeightsChoice& choice = {}) {
    return parse_torch_weights(bytes_of(file), "f.pth", choice).place;
  };
  const auto has_a = [](std::span<const TensorView> tensors) {
    return static_cast<std::size_t>(std::ranges::count(tensors, "a", &TensorView::name));
  };
  // A number beside the weights, as PyTorch's example for ImageNet stores it, and an optimizer's state.
  const auto usual =
      file_of(py_dict({{"best_acc1", tensor},
                       {"state_dict", net},
                       {"optimizer", "}" + py_text("state") + "}K\x01" + py_dict({{"m", tensor}}) + "ss"}}));
  CHECK(place(usual) == "state_dict");
  CHECK(place(usual, {.place = "."}) == ".");
  CHECK(place(usual, {.place = "optimizer.state.1"}) == "optimizer.state.1");
  CHECK(place(file_of(py_dict({{"x", tensor}, {"y", tensor}, {"z", tensor}, {"net", net}})), {.fit = has_a}) == "net");
  const auto equal = file_of(py_dict({{"model", net}, {"model_ema", net}, {"gan", other}}));
  CHECK(place(file_of(py_dict({{"gan", other}, {"model", net}})), {.fit = has_a}) == "model");
  CHECK(place(equal, {.place = "model_ema", .fit = has_a}) == "model_ema");
  const auto message = [&](const WeightsChoice& choice) { return message_of([&] { place(equal, choice); }); };
  CHECK(contains(message({.fit = has_a}), "several dicts of tensors fit equally well: 'model', 'model_ema'"));
  try {
    place(equal, {.fit = has_a});
  } catch (const UserError& error) {
    CHECK(error.hint() == "choose one: net.pretrain_key = \"model_ema\"");
  }
  CHECK(
      contains(message({.place = "emma"}), "no dict of tensors under 'emma'; there are: 'model', 'model_ema', 'gan'"));
  // A dict in two places is one; a circle ends.
  CHECK(place(file_of(ordered_dict + "(" + py_text("a") + net + "q\x01" + py_text("b") + "h\x01u")) == "a");
  CHECK(place(file_of(ordered_dict + "q\x01(" + py_text("self") + "h\x01" + py_text("a") + tensor + "u")) == ".");
}

TEST_CASE("weights: files that are none are called what they are") {
  TempFolder folder;
  const auto refused = [&](const std::string& bytes) {
    put(folder / "w.pth", bytes);
    return message_of([&] { WeightsFile(folder / "w.pth"); });
  };
  CHECK(contains(refused(""), "w.pth: it is empty"));
  CHECK(contains(refused("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 46830571\n"),
                 "a pointer of Git LFS"));
  for (const char* page : {"<!DOCTYPE html><html>", "\n  <html><body>Sign in", "\xef\xbb\xbf<!doctype html>",
                           "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"})
    CHECK(contains(refused(page), "a web page"));
  CHECK(contains(refused(R"({"epoch": 3, "loss": 1.5})"), "a JSON text"));
  CHECK(contains(refused("a table of numbers"), "it is a text"));
  CHECK(contains(refused(std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10)), "compressed by gzip"));
  CHECK(contains(refused(std::string(257, 'x') + "ustar"), "a tar archive"));
  CHECK(contains(refused("\x80\x04\x95 abcdefg"), "a pickle that torch.save did not write"));
  CHECK(contains(refused(zip_of({{"m/data.pkl", "N"}, {"m/constants.pkl", "N"}})), "a TorchScript archive"));
  CHECK(contains(refused(zip_of({{"m/archive_format", "pt2"}})), "a package of torch.export"));
  // A header of 0x80 or 0x8b1f bytes begins as a pickle or a gzip file does.
  for (const std::size_t size : {0x80u, 0x8b1fu}) {
    const std::string header = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    put(folder / "w.pth", le(std::uint64_t{size}) + header + std::string(size - header.size(), ' ') + "x");
    CHECK(WeightsFile(folder / "w.pth").tensors().size() == 1);
  }
}

TEST_CASE("torch: windows that reach beyond their storage, or unfold to more, are refused") {
  CHECK(contains(tensor_refusal({{2, 3}, {3, 1}, 1, 6}), "tensor 'a': (2, 3) from element 1 reaches beyond"));
  CHECK(contains(tensor_refusal({{1}, {1}, 6, 6}), "reaches beyond"));
  CHECK(contains(tensor_refusal({{2}, {0x7fffffff}, 0, 6}), "reaches beyond"));
  const std::int32_t most = 0x7fffffff;
  CHECK(contains(tensor_refusal({{most, most, most}, {most, most, most}, most, 6}), "reaches beyond"));
  CHECK(contains(tensor_refusal({{most, most, most}, {0, 0, 0}, 0, 6}), "reaches beyond"));
  CHECK(contains(tensor_refusal({{1000}, {0}, 0, 6}), "has more elements than its storage, 6"));
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 300; ++i) many.emplace_back(std::to_string(i), "h\x01");
  auto text = py_dict(many);
  const auto first = text.find("h\x01");
  text.replace(first, 2, PyTensor{{30, 20}, {1, 30}, 0, 600}.text() + "q\x01");
  CHECK(contains(refusal(torch_zip(py_whole(text), {{"m/data/0", std::string(2400, '\0')}})), "unfold to more"));
}

TEST_CASE("torch: storages that are not there or of another size are refused") {
  CHECK(contains(refusal(torch_zip(pickle_of(matrix.text()))), "storage '0' is not in the file"));
  CHECK(contains(refusal(torch_zip(pickle_of(matrix.text()), {{"m/data/0", "short"}})),
                 "storage '0' has 5 bytes, not 6 elements of F32"));
  PyTensor wide = matrix;
  wide.storage = "DoubleStorage";
  CHECK(contains(tensor_refusal(wide), "storage '0' has 24 bytes, not 6 elements of F64"));
}

TEST_CASE("torch: zip archives that lie are refused") {
  const auto pickle = pickle_of(matrix.text());
  const auto wrong = [&](auto change) {
    std::vector<ZipPart> parts = {{"m/data.pkl", pickle}, {"m/data/0", six_floats}};
    change(parts);
    return refusal(zip_of(parts));
  };
  CHECK(only_tensor(zip_of({{"m/data.pkl", pickle}, {"m/data/0", six_floats}}, "a comment PK\x05\x06")).size() == 6);
  CHECK(contains(wrong([](auto& p) { p[1].method = 8; }), "entry 'm/data/0' is compressed"));
  CHECK(contains(wrong([](auto& p) { p[1].flags = 1; }), "entry 'm/data/0' is encrypted"));
  CHECK(contains(wrong([](auto& p) { p[1].claimed_bytes = 1 << 30; }), "1073741824 bytes are not there"));
  CHECK(contains(wrong([](auto& p) { p[1].header_shift = 5; }), "no entry where 'm/data/0' should be"));
  CHECK(contains(wrong([](auto& p) { p[1].header_shift = 1 << 30; }), "cut short"));
  CHECK(contains(wrong([](auto& p) { p[1].local_name = "m/data/1"; }), "another entry where 'm/data/0' should be"));
  CHECK(contains(wrong([](auto& p) { p.push_back(p[1]); }), "'m/data/0' comes twice"));
  CHECK(contains(wrong([](auto& p) { p[0].claimed_bytes += 60; }), "'m/data/0' lies over 'm/data.pkl'"));
  CHECK(contains(wrong([](auto& p) { p.push_back({"m/../../x", ""}); }), "leads out of the archive"));
  CHECK(contains(wrong([](auto& p) { p.push_back({"/etc/x", ""}); }), "leads out of the archive"));
  CHECK(contains(wrong([](auto& p) { p.erase(p.begin()); }), "without <name>/data.pkl"));
  CHECK(contains(wrong([](auto& p) { p.push_back({"n/data.pkl", ""}); }), "two pickles"));
  CHECK(contains(wrong([](auto& p) { p.push_back({"m/byteorder", "big"}); }), "big-endian"));
  for (std::size_t size = 4; size < good().size(); ++size) refusal(good().substr(0, size));
}

TEST_CASE("torch: the zip64 record and field are read, and their lies refused") {
  // The directory's numbers moved into zip64's places.
  const auto plain = good();
  const auto end = plain.size() - 22;
  std::uint32_t directory_bytes = 0, directory_at = 0;
  std::memcpy(&directory_bytes, plain.data() + end + 12, sizeof directory_bytes);
  std::memcpy(&directory_at, plain.data() + end + 16, sizeof directory_at);
  const auto big = [&](std::uint64_t entries, std::uint64_t bytes, std::uint64_t at) {
    return plain.substr(0, end) + "PK\x06\x06" + std::string(28, '\0') + le(entries) + le(bytes) + le(at) +
           "PK\x06\x07" + le(std::uint32_t{0}) + le(std::uint64_t{end}) + le(std::uint32_t{1}) + "PK\x05\x06" +
           std::string(4, '\0') + std::string(12, '\xff') + std::string(2, '\0');
  };
  CHECK(only_tensor(big(3, directory_bytes, directory_at)).size() == 6);
  CHECK(contains(refusal(big(3, directory_bytes, ~std::uint64_t{0})), "not within the file"));
  CHECK(contains(refusal(big(~std::uint64_t{0}, directory_bytes, directory_at)), "more than 2^18 entries"));
  CHECK(contains(refusal(big(4, directory_bytes, directory_at)), "does not hold what it says"));
  CHECK(contains(refusal(big(2, directory_bytes, directory_at)), "another size than it says"));
}

TEST_CASE("torch: the format before 1.6") {
  PyTensor tensor = matrix;
  tensor.legacy = true;
  const auto pickle = pickle_of(tensor.text());
  const auto keys = py_whole("]" + py_text("0") + "a");
  const auto storage = le(std::uint64_t{6}) + six_floats;
  const auto file = torch_legacy(pickle, keys, storage);
  CHECK(only_tensor(file) == std::vector<float>{0, 1, 2, 3, 4, 5});
  for (std::size_t size = 15; size < file.size(); ++size) refusal(file.substr(0, size));
  CHECK(contains(refusal(file + "x"), "1 bytes after the last storage"));
  CHECK(contains(refusal(torch_legacy(pickle, keys, storage, false)), "big-endian"));
  CHECK(contains(refusal(torch_legacy(pickle, py_whole("]" + py_text("1") + "a"), storage)), "no tensor has"));
  CHECK(contains(refusal(torch_legacy(pickle, py_whole("]"), "")), "storage '0' is not in the file"));
  CHECK(contains(refusal(torch_legacy(pickle, py_whole("N"), "")), "no list of storages"));
  CHECK(contains(refusal(torch_legacy(pickle, keys, le(~std::uint64_t{0}))), "elements, not 6"));
  CHECK(contains(refusal(torch_legacy(pickle, py_whole("](" + py_text("0") + py_text("0") + "e"), storage + storage)),
                 "storage '0' comes twice"));
}

TEST_CASE("torch: the file's kind is told by its bytes, not by its name") {
  TempFolder folder;
  put(folder / "a.safetensors", good());
  CHECK(WeightsFile(folder / "a.safetensors").tensors().size() == 1);
  const std::string header = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  put(folder / "b.pth", le(std::uint64_t{header.size()}) + header + "x");
  CHECK(WeightsFile(folder / "b.pth").tensors()[0].name == "b");
  put(folder / "c.pth", "neither");
  CHECK(contains(message_of([&] { WeightsFile(folder / "c.pth"); }), "c.pth"));
  CHECK(contains(refusal("neither"), "f.pth: the file was not written by torch.save"));
}

}  // namespace flowtrain::torch_archive_test
