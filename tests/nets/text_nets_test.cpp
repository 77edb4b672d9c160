// The nets of texts against transformers and torch: golden files by golden/text_nets.py.

#include "nets/text_net.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <doctest/doctest.h>

#include <cmath>

#include "sampling/core/mistake.h"
#include "tests/nets/golden_tensors.h"
#include "tests/nets/names_of.h"
#include "tests/support/parts.h"

namespace flowtrain::text_nets_test {

using namespace flowtrain::nets;
using flowtrain::UserError;
using flowtrain::testing::make_loss;
using flowtrain::testing::make_net;
using flowtrain::testing::Values;

namespace {

const Values sizes{{"layers", std::int64_t{2}}, {"heads", std::int64_t{2}}, {"width", std::int64_t{16}}};

/// The net of golden/gpt2, with the weights of transformers.
std::unique_ptr<Net> gpt2() {
  auto net = make_net({"gpt2", {.vocabulary = 61, .length = 208}, sizes});
  NamedTensors weights;
  for (const auto& file : std::filesystem::directory_iterator(flowtrain::test::source_path("tests/nets/golden/gpt2")))
    if (file.path().extension() == ".safetensors") read_tensors(file.path(), weights);
  set_tensors(net->parameters(), weights);
  CHECK(net->parameters().size() == weights.size());
  net->train(false);
  return net;
}

/// A net for short rows, with larger weights than at first: all of them matter.
std::unique_ptr<Net> lively(const std::string& name, Values keys = sizes,
                            NetInput input = {.vocabulary = 23, .length = 12, .labels = 5}) {
  at::manual_seed(2);
  auto net = make_net({name, input, std::move(keys)});
  const c10::NoGradGuard no_grad;
  for (const auto& [parameter, tensor] : net->parameters()) tensor.add_(at::randn_like(tensor) * 0.3);
  net->train(false);
  return net;
}

at::Tensor logits(Net& net, const NamedTensors& batch) { return net.forward(batch).at("logits"); }

double largest(const at::Tensor& difference) { return difference.abs().max().item<double>(); }

/// The tokens that are most probable after `text` (B, L), one after the other; without `cached`, of whole texts.
at::Tensor greedy(Net& net, at::Tensor text, std::int64_t tokens, bool cached) {
  auto& speaker = dynamic_cast<TextNet&>(net);
  const std::int64_t prompt = text.size(1);
  auto memory = speaker.begin_texts(text.size(0));
  at::Tensor next = text;
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (!cached) memory = speaker.begin_texts(text.size(0));
    next = speaker.continue_texts(*memory, cached ? next : text).argmax(1, /*keepdim=*/true);
    text = at::cat({text, next}, 1);
  }
  return text.narrow(1, prompt, tokens);
}

}  // namespace

TEST_CASE("gpt2: logits, loss and gradients are those of transformers") {
  const auto net = gpt2();
  const NamedTensors expected = golden("gpt2.safetensors");
  const NamedTensors batch{{"tokens", expected.at("tokens")}, {"label", expected.at("label")}};
  net->train(true);  // there is no dropout
  const at::Tensor found = logits(*net, batch);
  CHECK(found.sizes() == at::IntArrayRef({2, 61, 12}));
  CHECK(found.transpose(1, 2).is_contiguous());
  CHECK(largest(found.transpose(1, 2) - expected.at("logits")) < 1e-5);
  for (const bool counts : {false, true}) {
    const auto loss = make_loss("cross_entropy", counts ? Values{{"ignore_index", std::int64_t{-100}}} : Values{});
    CHECK(largest((*loss)({{"logits", found}}, batch).at("loss") - expected.at("loss")) < 1e-6);
  }
  (*make_loss("cross_entropy"))({{"logits", found}}, batch).at("loss").backward();
  check_gradients(*net, expected);
}

TEST_CASE("gpt2: what it says is what transformers' says, with remembered keys and values or without") {
  const auto net = gpt2();
  const NamedTensors expected = golden("gpt2.safetensors");
  const at::Tensor& prompt = expected.at("prompt");
  CHECK(at::equal(greedy(*net, prompt, 200, true), expected.at("text")));
  CHECK(at::equal(greedy(*net, prompt, 200, false), expected.at("text")));
  const at::Tensor prompts = at::cat({prompt.flip(1), prompt, prompt + 1});
  const at::Tensor several = greedy(*net, prompts, 50, true);
  CHECK(at::equal(several, greedy(*net, prompts, 50, false)));
  CHECK(at::equal(several[1], expected.at("text")[0].narrow(0, 0, 50)));
}

TEST_CASE("gpt2: a text may be continued by any number of tokens, up to the net's length") {
  const auto net = gpt2();
  auto& speaker = dynamic_cast<TextNet&>(*net);
  CHECK(speaker.vocabulary() == 61);
  CHECK(speaker.length() == 208);
  at::manual_seed(3);
  const at::Tensor text = at::randint(61, {2, 208}, at::kLong);
  const at::Tensor whole = logits(*net, {{"tokens", text}});
  const auto memory = speaker.begin_texts(2);
  std::int64_t before = 0;
  for (const std::int64_t more : {5, 1, 7, 1, 90, 104}) {
    const at::Tensor next = speaker.continue_texts(*memory, text.narrow(1, before, more));
    before += more;
    CHECK(next.sizes() == at::IntArrayRef({2, 61}));
    CHECK_FALSE(next.requires_grad());
    CHECK(largest(next - whole.select(2, before - 1)) < 1e-4);
  }
  CHECK_THROWS_WITH_AS(speaker.continue_texts(*memory, text.narrow(1, 0, 1)),
                       "a text has 209 tokens, but the net has 208 positions", std::invalid_argument);
  CHECK_THROWS_AS(speaker.continue_texts(*speaker.begin_texts(1), at::full({1, 1}, 61, at::kLong)), flowtrain::Mistake);
}

TEST_CASE("documents of a packed row are as rows of their own") {
  const at::Tensor tokens = at::arange(10).remainder(7) + 3;
  const at::Tensor segment = at::tensor({1, 1, 1, 1, 2, 2, 2, 2, 2, 0}, at::kInt).unsqueeze(0),
                   position = at::tensor({0, 1, 2, 3, 0, 1, 2, 3, 4, 0}, at::kInt).unsqueeze(0);
  for (const std::string name : {"gpt2", "encoder"}) {
    CAPTURE(name);
    const auto net = lively(name);
    const at::Tensor packed =
        logits(*net, {{"tokens", tokens.unsqueeze(0)}, {"segment", segment}, {"position", position}});
    CHECK_FALSE(packed.isnan().any().item<bool>());
    const auto alone = [&](std::int64_t first, std::int64_t length) {
      return logits(*net, {{"tokens", tokens.narrow(0, first, length).unsqueeze(0)}});
    };
    CHECK(largest(packed.narrow(2, 0, 4) - alone(0, 4)) < 1e-5);
    CHECK(largest(packed.narrow(2, 4, 5) - alone(4, 5)) < 1e-5);
    packed.narrow(2, 0, 9).square().sum().backward();
    const at::Tensor gradient = net->parameters().begin()->second.grad().clone();
    net->parameters().begin()->second.mutable_grad().reset();
    (alone(0, 4).square().sum() + alone(4, 5).square().sum()).backward();
    CHECK(at::allclose(gradient, net->parameters().begin()->second.grad(), 1e-4, 1e-4));
  }
}

TEST_CASE("one document of a whole row is as a row without segments") {
  const auto net = lively("gpt2");
  const at::Tensor tokens = at::arange(24).view({2, 12}).remainder(23);
  const at::Tensor plain = logits(*net, {{"tokens", tokens}}),
                   masked = logits(*net, {{"tokens", tokens}, {"segment", at::ones({2, 12}, at::kInt)}});
  CHECK(largest(plain - masked) < 1e-5);
}

TEST_CASE("gpt2: first values are normal, smaller on the way back to the residual stream") {
  at::manual_seed(1);
  const auto net = make_net({"gpt2",
                             {.vocabulary = 256, .length = 64},
                             {{"layers", std::int64_t{8}}, {"heads", std::int64_t{4}}, {"width", std::int64_t{64}}}});
  for (const auto& [name, parameter] : net->parameters()) {
    CAPTURE(name);
    if (name.ends_with("bias")) {
      CHECK(largest(parameter) == 0);
    } else if (parameter.dim() == 1) {
      CHECK(largest(parameter - 1) == 0);
    } else {
      const double deviation = name.ends_with("c_proj.weight") ? 0.02 / std::sqrt(16.0) : 0.02;
      CHECK(parameter.std().item<double>() == doctest::Approx(deviation).epsilon(0.05));
    }
  }
  CHECK(names_of(make_net({"gpt2", {.vocabulary = 5, .length = 2}, {{"layers", std::int64_t{1}}}})->parameters()) ==
        "transformer.wte.weight transformer.wpe.weight transformer.h.0.ln_1.weight transformer.h.0.ln_1.bias "
        "transformer.h.0.attn.c_attn.weight transformer.h.0.attn.c_attn.bias transformer.h.0.attn.c_proj.weight "
        "transformer.h.0.attn.c_proj.bias transformer.h.0.ln_2.weight transformer.h.0.ln_2.bias "
        "transformer.h.0.mlp.c_fc.weight transformer.h.0.mlp.c_fc.bias transformer.h.0.mlp.c_proj.weight "
        "transformer.h.0.mlp.c_proj.bias transformer.ln_f.weight transformer.ln_f.bias");
}

TEST_CASE("perplexity over the rows of one, two and three processes is the same") {
  const auto net = lively("gpt2");
  at::manual_seed(7);
  const at::Tensor tokens = at::randint(23, {12, 12}, at::kLong),
                   labels = at::randint(23, {12, 12}, at::kLong).masked_fill(at::rand({12, 12}) < 0.2, -100);
  const auto perplexity = [&](std::int64_t processes) {
    std::vector<double> sums(2);
    const auto metric = flowtrain::testing::make_metric("perplexity");
    for (std::int64_t rank = 0; rank < processes; ++rank) {
      const std::int64_t first = rank * 12 / processes, rows = (rank + 1) * 12 / processes - first;
      metric->reset();
      metric->update(net->forward({{"tokens", tokens.narrow(0, first, rows)}}),
                     {{"label", labels.narrow(0, first, rows)}});
      for (std::size_t i = 0; i < 2; ++i) sums[i] += metric->totals()[i];
    }
    return metric->scalars(sums).front();
  };
  for (const std::int64_t processes : {2, 3, 5})
    CHECK(perplexity(processes) == doctest::Approx(perplexity(1)).epsilon(1e-9));
}

TEST_CASE("encoder: logits and gradients are those of torch's TransformerEncoder") {
  const NamedTensors expected = golden("encoder.safetensors");
  const auto net = make_net({"encoder",
                             {.vocabulary = 19, .length = 9, .labels = 5},
                             {{"layers", std::int64_t{2}}, {"heads", std::int64_t{3}}, {"width", std::int64_t{12}}}});
  set_tensors(net->parameters(), expected);
  NamedTensors batch;
  for (const char* name : {"tokens", "type", "tokens_length", "label"}) batch.add(name, expected.at(name));
  const at::Tensor found = logits(*net, batch);
  CHECK(found.sizes() == at::IntArrayRef({3, 5, 7}));
  CHECK(found.transpose(1, 2).is_contiguous());
  const at::Tensor own = at::arange(7).lt(batch.at("tokens_length").unsqueeze(1)).unsqueeze(2);
  CHECK(largest(found.transpose(1, 2) * own - expected.at("logits")) < 1e-5);
  (*make_loss("cross_entropy"))({{"logits", found}}, batch).at("loss").backward();
  check_gradients(*net, expected);
}

TEST_CASE("encoder: padding changes nothing, and rows have the mean of their tokens or the first one") {
  const at::Tensor tokens = at::arange(6).unsqueeze(0) + 2, lengths = at::tensor({6}, at::kLong);
  const at::Tensor padded = at::cat({tokens, at::full({1, 4}, 1, at::kLong)}, 1);
  for (const std::string pool : {"mean", "first"})
    for (const std::string head : {"auto", "tokens", "row"}) {
      CAPTURE(head);
      Values keys = sizes;
      keys.insert(keys.end(), {{"head", head}, {"pool", pool}});
      const bool rows = head == "row";
      const auto net = lively("encoder", keys, {.classes = 3, .vocabulary = 23, .length = 12, .labels = 5});
      const at::Tensor plain = logits(*net, {{"tokens", tokens}}),
                       other = logits(*net, {{"tokens", padded}, {"tokens_length", lengths}});
      CHECK(plain.sizes() == (rows ? at::IntArrayRef({1, 3}) : at::IntArrayRef({1, 5, 6})));
      CHECK(largest(plain - (rows ? other : other.narrow(2, 0, 6))) < 1e-5);
      const at::Tensor empty = logits(*net, {{"tokens", padded}, {"tokens_length", at::zeros({1}, at::kLong)}});
      CHECK_FALSE(empty.isnan().any().item<bool>());
    }
  // Without labels of tokens there is one for each row.
  const auto net = lively("encoder", sizes, {.classes = 3, .vocabulary = 23, .length = 12});
  CHECK(logits(*net, {{"tokens", tokens}}).sizes() == at::IntArrayRef({1, 3}));
}

TEST_CASE("nets of texts: dropout acts while training only, and frozen parameters take no gradients") {
  for (const std::string name : {"gpt2", "encoder"}) {
    CAPTURE(name);
    Values keys = sizes;
    keys.emplace_back("dropout", 0.5);
    const auto net = lively(name, keys);
    const NamedTensors batch{{"tokens", at::arange(12).unsqueeze(0)}};
    CHECK(at::equal(logits(*net, batch), logits(*net, batch)));
    const std::string first = net->parameters().begin()->first;
    net->freeze({first});
    net->train(true);
    CHECK_FALSE(at::equal(logits(*net, batch), logits(*net, batch)));
    logits(*net, batch).sum().backward();
    for (const auto& [parameter, tensor] : net->parameters())
      CHECK_MESSAGE(tensor.grad().defined() == (parameter != first), parameter);
  }
}

TEST_CASE("nets of texts: the same seed gives the same weights, another seed others") {
  for (const std::string name : {"gpt2", "encoder"}) {
    const auto weights = [&](std::uint64_t seed) {
      at::manual_seed(seed);
      return make_net({name, {.vocabulary = 23, .length = 12, .labels = 5}, sizes})->parameters();
    };
    const NamedTensors first = weights(1), again = weights(1), other = weights(2);
    for (const auto& [parameter, tensor] : first) CHECK(at::equal(tensor, again.at(parameter)));
    CHECK_FALSE(at::equal(first.begin()->second, other.begin()->second));
  }
}

TEST_CASE("nets of texts: what does not fit the data is one line") {
  const auto refusal = [](const std::string& name, const NetInput& input, Values keys) {
    try {
      make_net({name, input, std::move(keys)});
    } catch (const UserError& error) {
      return std::string(error.what()) + " -> " + error.hint();
    }
    return std::string();
  };
  const NetInput input{.classes = 0, .vocabulary = 300, .length = 64};
  const auto key = [](const char* name, std::int64_t value) { return Values{{name, value}}; };
  CHECK(refusal("gpt2", input, key("vocabulary", 257)) ==
        "test.toml:1:1: net.vocabulary: 257 ids are less than the 300 of the field `tokens` -> "
        "leave it out, or set it to 300 or more");
  CHECK(refusal("gpt2", input, key("length", 32)) ==
        "test.toml:1:1: net.length: 32 positions are less than the 64 of the field `tokens` -> "
        "leave it out, or set it to 64 or more");
  CHECK(refusal("gpt2", input, key("width", 100)) ==
        "test.toml:1:1: net.width: 100 is not a multiple of net.heads, which is 12 -> ");
  CHECK(refusal("gpt2", {}, {}).starts_with("net.length: the batches have no field `tokens` that says the number of "));
  CHECK(
      refusal("encoder", input, {}).starts_with("net.head: the data has no classes, of which each row could have one"));
  CHECK(refusal("encoder", input, {{"head", std::string("tokens")}})
            .starts_with("test.toml:1:1: net.head: the batches have no field `label` with one label for each token"));

  const auto net = make_net({"gpt2", {.vocabulary = 23, .length = 8}, sizes});
  const auto mistake = [&](const NamedTensors& batch) {
    try {
      net->forward(batch);
    } catch (const flowtrain::Mistake& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(mistake({{"tokens", at::arange(20, 24).unsqueeze(0)}}) ==
        "the field `tokens` has the value 23, but the net knows 0 to 22");
  CHECK(mistake({{"tokens", at::zeros({1, 9}, at::kLong)}}) == "a row has 9 tokens, but the net has 8 positions");
  CHECK(mistake({{"tokens", at::zeros({9}, at::kLong)}}) == "tokens have shape [9], expected (B, L)");
}

}  // namespace flowtrain::text_nets_test
