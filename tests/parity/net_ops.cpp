// Operations of the nets: corner pooling, blocks, whole nets, and the numbers that their weights are made of.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <ostream>

#include "nets/cornernet/corner_pool.h"
#include "nets/net.h"
#include "tests/parity/block_op.h"
#include "tests/parity/name_numbers.h"
#include "tests/parity/state_dict.h"
#include "tests/parity/tensor_files.h"
#include "tests/support/parts.h"

namespace flowtrain::parity {
namespace {

NamedTensors numbers(const Call& call) {
  const auto name = call.set.get<std::string>("name");
  const auto count = call.set.get<std::int64_t>("count");
  const std::uint64_t hash = name_hash(name);
  at::Tensor bits = at::empty({count}, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    bits.mutable_data_ptr<std::int64_t>()[i] = name_bits(hash, static_cast<std::uint64_t>(i));
  }
  return {{"hash", at::full({1}, static_cast<std::int64_t>(hash), at::kLong)},
          {"z40", bits},
          {"value", uniform_of(name, {count}, call.set.get<double>("scale"), call.set.get<double>("shift"))}};
}

nets::CornerPool direction_named(const std::string& name) {
  if (name == "top") return nets::CornerPool::top;
  if (name == "bottom") return nets::CornerPool::bottom;
  if (name == "left") return nets::CornerPool::left;
  if (name == "right") return nets::CornerPool::right;
  throw BadCall("--set direction=" + name + ": expected top, bottom, left or right");
}

NamedTensors corner_pool(const Call& call) {
  const auto direction = direction_named(call.set.get<std::string>("direction"));
  const at::Tensor x = input(call.in, "x", at::kFloat, {-1, -1, -1, -1}).clone().requires_grad_();
  const at::Tensor y = nets::corner_pool(x, direction);
  y.backward(input(call.in, "g", at::kFloat, x.sizes().vec()));
  return {{"y", y.detach()}, {"gx", x.grad()}};
}

std::unique_ptr<nets::Net> make_net(const std::string& name, std::int64_t height, std::int64_t width) {
  testing::NetOf net{.name = "", .input = {.classes = 80, .height = height, .width = width}};
  if (name == "CornerNet") net.name = "cornernet";
  if (name == "CornerNet_Squeeze") net.name = "cornernet_squeeze";
  if (name == "CornerNet_Saccade") net.name = "cornernet_saccade";
  if (net.name.empty()) throw BadCall("--net " + name + ": no such net");
  return testing::make_net(net);
}

/// The batch as the loss wants it: maps of bytes as floats.
NamedTensors training_batch(const Call& call, bool saccade) {
  const std::int64_t objects = 128;
  const auto bytes = [&](const std::string& name, std::int64_t channels) {
    return input(call.in, name, at::kByte, {-1, channels, -1, -1}).to(at::kFloat);
  };
  NamedTensors batch{{"image", input(call.in, "input", at::kFloat, {-1, 3, -1, -1})},
                     {"tl_heat", bytes("heat_tl_u8", 80) / 255},
                     {"br_heat", bytes("heat_br_u8", 80) / 255},
                     {"mask", input(call.in, "mask", at::kByte, {-1, objects})},
                     {"tl_off", input(call.in, "off_tl", at::kFloat, {-1, objects, 2})},
                     {"br_off", input(call.in, "off_br", at::kFloat, {-1, objects, 2})},
                     {"tl_ind", input(call.in, "ind_tl", at::kLong, {-1, objects})},
                     {"br_ind", input(call.in, "ind_br", at::kLong, {-1, objects})}};
  if (!saccade) return batch;
  batch.set("tl_valid", bytes("valid_tl_u8", 80));
  batch.set("br_valid", bytes("valid_br_u8", 80));
  for (const std::string name : {"att0", "att1", "att2"}) batch.set(name, bytes(name + "_u8", 1));
  return batch;
}

/// Rows of sum and sum of magnitudes, and with `norm` the 2-norm.
at::Tensor sums(const NamedTensors& tensors, bool norm) {
  std::vector<at::Tensor> rows;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor wide = tensor.detach().to(at::kDouble);
    std::vector<at::Tensor> row{wide.sum(), wide.abs().sum()};
    if (norm) row.push_back(wide.norm());
    rows.push_back(at::stack(row));
  }
  return at::stack(rows).cpu();
}

NamedTensors train(const NetCall& net_call, nets::Net& net, const Call& call) {
  const bool saccade = net_call.net == "CornerNet_Saccade";
  const auto steps = call.set.get<std::int64_t>("steps");
  if (steps < 1) throw BadCall("--set steps: expected 1 or more");
  const testing::OptimizerOf adam{.name = "adam", .lr = call.set.get<double>("lr")};
  const auto loss = testing::make_loss(saccade ? "cornernet_saccade" : "cornernet");
  const auto optimizer = testing::make_optimizer(adam, net.parameters());
  const NamedTensors batch = training_batch(call, saccade);
  const auto grads = call.set.get<std::vector<std::string>>("grads", {});
  const auto kept = call.set.get<std::vector<std::string>>("buffers", {});

  NamedTensors out;
  std::vector<double> losses;
  net.train(true);
  for (std::int64_t step = 0; step < steps; ++step) {
    const at::Tensor value = (*loss)(net.forward(batch), batch).at("loss");
    losses.push_back(value.item<double>());
    if (step > 0 && step + 1 == steps) break;
    value.backward();
    if (step == 0) {
      NamedTensors gradients, statistics;
      for (const auto& [name, parameter] : net.parameters()) gradients.set(name, parameter.grad());
      for (const auto& [name, buffer] : net.buffers()) {
        if (!name.ends_with("num_batches_tracked")) statistics.set(name, buffer);
      }
      out.set("grad_sums", sums(gradients, /*norm=*/true));
      out.set("buffer_sums", sums(statistics, /*norm=*/false));
      for (const std::string& name : grads) out.set("grad." + name, gradients.at(name).clone());
      for (const std::string& name : kept) out.set("buffer." + name, net.buffers().at(name).clone());
    }
    if (step + 1 < steps) optimizer->step();
    optimizer->zero_grad();
  }
  out.set("losses", at::tensor(losses, at::kDouble));
  return out;
}

}  // namespace

Ops net_ops() { return {{"numbers", numbers}, {"corner_pool", corner_pool}, {"block", run_block}}; }

void print_names(const std::string& net_name, std::ostream& out) {
  const auto net = make_net(net_name, 511, 511);
  for (const Entry& entry : state_dict(net->parameters(), net->buffers())) {
    const char* const type = entry.tensor.scalar_type() == at::kLong ? "int64" : "float32";
    out << json{entry.name, entry.tensor.sizes().vec(), type, entry.parameter ? "p" : "b"}.dump() << '\n';
  }
}

NamedTensors run_net(const NetCall& net_call, const Call& call) {
  const at::Tensor image = input(call.in, "input", at::kFloat, {-1, 3, -1, -1});
  const auto net = make_net(net_call.net, image.size(2), image.size(3));
  const auto entries = state_dict(net->parameters(), net->buffers());
  if (net_call.weights.empty()) {
    const auto prefix = call.set.get<std::string>("name_prefix", "");
    for (const Entry& entry : entries) fill_by_name(prefix, entry.name, entry.tensor);
  } else {
    load(entries, read_tensors(net_call.weights));
  }
  net->to(call.device, /*channels_last=*/false);
  if (net_call.mode == "train") return train(net_call, *net, call);
  const c10::NoGradGuard no_gradients;
  net->train(false);
  return net->forward({{"image", image}});
}

}  // namespace flowtrain::parity
