// The nets of recordings against torchaudio and torch: golden files by golden/speech_nets.py.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <doctest/doctest.h>

#include "nets/layers/module_net.h"
#include "sampling/core/mistake.h"
#include "tests/nets/golden_tensors.h"
#include "tests/nets/names_of.h"
#include "tests/support/parts.h"

namespace flowtrain::speech_nets_test {

using namespace flowtrain::nets;
using flowtrain::UserError;
using flowtrain::testing::make_loss;
using flowtrain::testing::make_net;
using flowtrain::testing::NetOf;
using flowtrain::testing::Values;

namespace {

const std::vector<std::string> of_speech{"conformer", "crnn"};

/// Small nets, those of the golden files.
NetOf small(const std::string& name, Values more = {}, NetInput input = {.features = 15, .labels = 5}) {
  Values keys{{"width", std::int64_t{8}},
              {"layers", std::int64_t{2}},
              {"heads", std::int64_t{2}},
              {"kernel", std::int64_t{5}},
              {"dropout", 0.0}};
  if (name == "crnn") keys = {{"width", std::int64_t{7}}, {"channels", std::vector<std::int64_t>{4, 6}}};
  keys.insert(keys.end(), more.begin(), more.end());
  return {name, input, keys};
}

/// A net whose weights all matter, in eval mode.
std::unique_ptr<Net> lively(const NetOf& of) {
  at::manual_seed(2);
  auto net = make_net(of);
  const c10::NoGradGuard no_grad;
  for (const auto& [parameter, tensor] : net->parameters()) tensor.add_(at::randn_like(tensor) * 0.3);
  net->train(false);
  return net;
}

at::Tensor logits(Net& net, const NamedTensors& batch) { return net.forward(batch).at("logits"); }

double largest(const at::Tensor& difference) { return difference.abs().max().item<double>(); }

at::Tensor lengths_of(std::initializer_list<std::int64_t> lengths) { return at::tensor(lengths, at::kLong); }

NamedTensors batch_of(const at::Tensor& features, const at::Tensor& lengths) {
  return {{"features", features}, {"features_length", lengths}};
}

}  // namespace

TEST_CASE("conformer, crnn: logits, the loss ctc and gradients are those of torchaudio and torch") {
  for (const std::string& name : of_speech) {
    CAPTURE(name);
    const NamedTensors expected = golden(name + ".safetensors");
    const auto net = make_net(small(name));
    set_tensors(net->parameters(), expected);
    set_tensors(net->buffers(), expected);
    NamedTensors batch = batch_of(expected.at("features"), expected.at("features_length"));
    batch.add("label", expected.at("label"));
    const NamedTensors outputs = net->forward(batch);
    const at::Tensor lengths = outputs.at("logits_length"), found = outputs.at("logits").transpose(1, 2);
    CHECK(at::equal(lengths, expected.at("logits_length")));
    CHECK(found.is_contiguous());
    const at::Tensor own = at::arange(found.size(1)).lt(lengths.unsqueeze(1)).unsqueeze(2);
    CHECK(largest(found * own - expected.at("logits")) < 1e-5);
    const at::Tensor loss = (*make_loss("ctc"))(outputs, batch).at("loss");
    CHECK(largest(loss - expected.at("loss")) < 1e-5);
    loss.backward();
    check_gradients(*net, expected);
  }
}

TEST_CASE("crnn: the logits of rows are those of the mean over their frames") {
  const NamedTensors expected = golden("crnn.safetensors");
  const auto net = make_net(small("crnn", {}, {.classes = 6, .features = 15}));
  set_tensors(net->parameters(), expected);
  set_tensors(net->buffers(), expected);
  const NamedTensors batch = batch_of(expected.at("features"), expected.at("features_length"));
  CHECK(largest(logits(*net, batch) - expected.at("classes")) < 1e-5);
  CHECK_FALSE(net->may_give("logits_length"));
}

TEST_CASE("nets of recordings: padding changes no logits, whatever it is") {
  at::manual_seed(3);
  const at::Tensor features = at::randn({2, 30, 15}), lengths = lengths_of({30, 19});
  const at::Tensor padded = at::constant_pad_nd(features, {0, 0, 0, 21}, 9);
  for (const std::string& name : of_speech)
    for (const std::string head : {"ctc", "row"})
      for (const std::string norm : {"batch", "frame"}) {
        if (name == "crnn" && norm == "frame") continue;
        CAPTURE(name);
        CAPTURE(head);
        Values keys{{"head", head}};
        if (name == "conformer") keys.emplace_back("norm", norm);
        const auto net = lively(small(name, keys, {.classes = 3, .features = 15, .labels = 5}));
        const NamedTensors plain = net->forward(batch_of(features, lengths)),
                           other = net->forward(batch_of(padded, lengths)),
                           alone = net->forward({{"features", features.narrow(0, 1, 1).narrow(1, 0, 19)}});
        const at::Tensor &one = plain.at("logits"), &two = other.at("logits"), &last = alone.at("logits");
        if (head == "row") {
          CHECK(one.sizes() == at::IntArrayRef({2, 3}));
          CHECK(largest(one - two) < 1e-5);
          CHECK(largest(one[1] - last[0]) < 1e-5);
          continue;
        }
        CHECK(at::equal(plain.at("logits_length"), other.at("logits_length")));
        const auto all = plain.at("logits_length")[0].item<std::int64_t>(), fewer = last.size(2);
        CHECK(all == one.size(2));
        CHECK(plain.at("logits_length")[1].item<std::int64_t>() == fewer);
        CHECK(alone.at("logits_length").item<std::int64_t>() == fewer);
        CHECK(largest(one[0] - two[0].narrow(1, 0, all)) < 1e-5);
        CHECK(largest(one[1].narrow(1, 0, fewer) - two[1].narrow(1, 0, fewer)) < 1e-5);
        CHECK(largest(one[1].narrow(1, 0, fewer) - last[0]) < 1e-5);
      }
}

TEST_CASE("nets of recordings: a row of few frames, or of none, has finite logits and gradients") {
  for (const std::string& name : of_speech)
    for (const std::int64_t extent : {1, 2, 6, 7})
      for (const std::string head : {"ctc", "row"}) {
        CAPTURE(name);
        CAPTURE(extent);
        const auto net = lively(small(name, {{"head", head}}, {.classes = 3, .features = 15, .labels = 5}));
        const NamedTensors outputs = net->forward(batch_of(at::zeros({2, extent, 15}), lengths_of({extent, 0})));
        const at::Tensor& made = outputs.at("logits");
        CHECK(made.isfinite().all().item<bool>());
        if (head == "ctc") CHECK(outputs.at("logits_length")[1].item<std::int64_t>() == 0);
        made.square().sum().backward();
        for (const auto& [parameter, tensor] : net->parameters())
          if (tensor.grad().defined()) CHECK_MESSAGE(tensor.grad().isfinite().all().item<bool>(), parameter);
      }
}

TEST_CASE("conformer: each subsampling has its number of frames") {
  for (const std::int64_t subsampling : {1, 2, 4, 8}) {
    CAPTURE(subsampling);
    const auto net = make_net(small("conformer", {{"subsampling", subsampling}, {"channels", std::int64_t{3}}}));
    const NamedTensors outputs = net->forward(batch_of(at::zeros({2, 80, 15}), lengths_of({80, 40})));
    const std::int64_t long_one = subsampling == 1   ? 80
                                  : subsampling == 2 ? 39
                                  : subsampling == 4 ? 19
                                                     : 9,
                       short_one = subsampling == 1   ? 40
                                   : subsampling == 2 ? 19
                                   : subsampling == 4 ? 9
                                                      : 4;
    CHECK(outputs.at("logits").sizes() == at::IntArrayRef({2, 6, long_one}));
    CHECK(at::equal(outputs.at("logits_length"), lengths_of({long_one, short_one})));
  }
}

TEST_CASE("nets of recordings: dropout acts while training only, seeds decide the weights, frozen ones stay") {
  for (const std::string& name : of_speech) {
    CAPTURE(name);
    const auto net = lively(small(name, {{"dropout", 0.5}}));
    at::manual_seed(1);
    const NamedTensors batch{{"features", at::randn({2, 20, 15})}};
    CHECK(at::equal(logits(*net, batch), logits(*net, batch)));
    const std::string last = "head.bias";
    net->freeze({last});
    net->train(true);
    CHECK_FALSE(at::equal(logits(*net, batch), logits(*net, batch)));
    logits(*net, batch).square().sum().backward();
    for (const auto& [parameter, tensor] : net->parameters())
      CHECK_MESSAGE(tensor.grad().defined() == (parameter != last), parameter);
    const auto weights = [&](std::uint64_t seed) {
      at::manual_seed(seed);
      return make_net(small(name))->parameters();
    };
    const NamedTensors first = weights(1), again = weights(1), other = weights(2);
    for (const auto& [parameter, tensor] : first) CHECK(at::equal(tensor, again.at(parameter)));
    CHECK_FALSE(at::equal(first.begin()->second, other.begin()->second));
  }
}

TEST_CASE("nets of recordings: batch normalisation may span processes, and its statistics may be made again") {
  for (const std::string& name : of_speech) {
    const auto net = lively(small(name));
    net->train(true);
    int sums = 0;
    net->span_batch_norm([&](at::Tensor&) { ++sums; });
    logits(*net, {{"features", at::randn({2, 20, 15})}});
    CHECK(sums == 2);
    CHECK(dynamic_cast<ModuleNet&>(*net).restart_batch_norm() == 2);
  }
}

TEST_CASE("encoder: the head ctc has a blank, and the lengths of its rows") {
  const auto net = make_net({"encoder",
                             {.vocabulary = 9, .length = 6, .labels = 4},
                             {{"layers", std::int64_t{1}},
                              {"heads", std::int64_t{1}},
                              {"width", std::int64_t{4}},
                              {"head", std::string("ctc")}}});
  const NamedTensors outputs =
      net->forward({{"tokens", at::arange(12).view({2, 6}).remainder(9)}, {"tokens_length", lengths_of({6, 3})}});
  CHECK(outputs.at("logits").sizes() == at::IntArrayRef({2, 5, 6}));
  CHECK(at::equal(outputs.at("logits_length"), lengths_of({6, 3})));
  CHECK(net->may_give("logits_length"));
}

TEST_CASE("nets of recordings: what does not fit the data is one line") {
  const auto refusal = [](const std::string& name, const NetInput& input, Values keys = {}) {
    try {
      make_net({name, input, std::move(keys)});
    } catch (const UserError& error) {
      return std::string(error.what()) + " -> " + error.hint();
    }
    return std::string();
  };
  const NetInput input{.features = 15, .labels = 5};
  for (const std::string& name : of_speech) {
    CHECK(refusal(name, {.labels = 5}) ==
          "net.name: the batches have no field `features` with the values of each frame -> make the field `features` "
          "from recordings by the transform `logmel` or `mfcc`");
    CHECK(
        refusal(name, {.features = 15}, {{"head", std::string("ctc")}}) ==
        "test.toml:1:1: net.head: the batches have no field `label` with transcripts, whose number of labels is known "
        "-> make the field `label` from the part `text` by the transform `tokens`");
    CHECK(refusal(name, {.features = 15}) ==
          "net.head: the data has no classes, of which each row could have one -> add the field `label` (as = "
          "\"label\"), or set net.head = \"ctc\"");
    const auto net = make_net(small(name));
    CHECK_THROWS_WITH_AS(net->forward({{"features", at::zeros({2, 9, 14})}}),
                         "features have shape [2, 9, 14], expected (B, T, 15)", flowtrain::Mistake);
  }
  CHECK(refusal("conformer", input, {{"subsampling", std::int64_t{3}}}) ==
        "test.toml:1:1: net.subsampling: 3 is no power of 2 -> set 1, 2, 4 or 8: each convolution halves the number of "
        "frames");
  CHECK(refusal("conformer", {.features = 6, .labels = 5}) ==
        "net.subsampling: frames have 6 values, but 2 convolutions need 7 -> set a smaller net.subsampling");
  CHECK(refusal("conformer", input, {{"kernel", std::int64_t{4}}}) ==
        "test.toml:1:1: net.kernel: 4 is even, expected an odd number of frames -> ");
  CHECK(refusal("conformer", input, {{"width", std::int64_t{6}}}) ==
        "test.toml:1:1: net.width: 6 is not a multiple of net.heads, which is 4 -> ");
}

}  // namespace flowtrain::speech_nets_test
