#include "stages/torch/state_copy.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "sampling/error.h"
#include "sampling/say.h"

namespace flowtrain {

namespace {

const char* dtype_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return "F32";
    case at::kDouble: return "F64";
    case at::kHalf: return "F16";
    case at::kBFloat16: return "BF16";
    case at::kLong: return "I64";
    case at::kInt: return "I32";
    case at::kShort: return "I16";
    case at::kChar: return "I8";
    case at::kByte: return "U8";
    case at::kBool: return "BOOL";
    default: throw InternalError("a tensor of a type that snapshots do not hold");
  }
}

// The bytes as they lie, where they lie in one piece.
void copy_bytes(const at::Tensor& from, StateTensor& to) {
  to.bytes.resize(from.nbytes());
  if (from.is_non_overlapping_and_dense()) {
    to.strides = from.strides().vec();
    std::memcpy(to.bytes.data(), from.const_data_ptr(), from.nbytes());
  } else {
    to.strides.clear();
    torch::from_blob(to.bytes.data(), from.sizes(), from.scalar_type()).copy_(from);
  }
}

// Page-locked twins of one part's tensors, in order.
using Twins = std::vector<at::Tensor>;

Twins start_copies(const nets::NamedTensors& from) {
  Twins twins;
  for (auto& [name, tensor] : from) {
    twins.push_back(
        torch::empty_like(tensor, tensor.options().device(at::kCPU).pinned_memory(true).requires_grad(false)));
    twins.back().copy_(tensor.detach(), /*non_blocking=*/true);
  }
  return twins;
}

std::vector<StateTensor>::iterator describe(const nets::NamedTensors& tensors, bool parameters,
                                            std::vector<StateTensor>::iterator to) {
  for (auto& [name, tensor] : tensors) {
    to->name = name;
    to->dtype = dtype_name(tensor.scalar_type());
    to->shape = tensor.sizes().vec();
    to->parameter = parameters;
    ++to;
  }
  return to;
}

// "3 tensors (a, b, c)"; of many the first few.
std::string list_of(const auto& names) {
  constexpr std::size_t most = 10;
  std::string text;
  std::size_t listed = 0;
  for (auto& name : names)
    if (listed++ < most) text += (text.empty() ? "" : ", ") + name;
  return say(names.size(), names.size() == 1 ? " tensor" : " tensors", text.empty() ? "" : " (", text,
             names.size() > most ? say(" and ", names.size() - most, " more") : "", text.empty() ? "" : ")");
}

}  // namespace

// LearnerState keeps it until the bytes have arrived, compute until it need not wait any more.
struct StateCopier::Side {
  explicit Side(at::Device where)
      : stream(c10::impl::VirtualGuardImpl(where.type()).getStreamFromGlobalPool(where)),
        before(where.type()),
        buffers_read(where.type()),
        all_read(where.type()) {}

  c10::Stream stream;
  c10::Event before, buffers_read, all_read;
  Twins buffers, parameters, slots;
};

StateCopier::StateCopier(at::Device where) : where_(where) {}
StateCopier::~StateCopier() = default;

void StateCopier::copy(const nets::NamedTensors& parameters, const nets::NamedTensors& buffers,
                       const nets::NamedTensors& slots, LearnerState& state) {
  const torch::NoGradGuard no_gradients;
  state.model.resize(parameters.size() + buffers.size());
  state.optim.resize(slots.size());
  describe(buffers, false, describe(parameters, true, state.model.begin()));
  describe(slots, false, state.optim.begin());
  if (where_.is_cpu()) {
    auto to = state.model.begin();
    for (auto* part : {&parameters, &buffers})
      for (auto& [name, tensor] : *part) copy_bytes(tensor.detach(), *to++);
    to = state.optim.begin();
    for (auto& [name, tensor] : slots) copy_bytes(tensor, *to++);
    return;
  }

  side_ = std::make_shared<Side>(where_);
  Side& side = *side_;
  side.before.record(c10::impl::VirtualGuardImpl(where_.type()).getStream(where_));
  side.before.block(side.stream);
  const c10::StreamGuard on_side(side.stream);
  side.buffers = start_copies(buffers);  // first: the next forward pass changes them
  side.buffers_read.record(side.stream);
  side.parameters = start_copies(parameters);
  side.slots = start_copies(slots);
  side.all_read.record(side.stream);
  state.arrive = [kept = side_](LearnerState& state) {
    kept->all_read.synchronize();
    auto to = state.model.begin();
    for (auto* part : {&kept->parameters, &kept->buffers})
      for (auto& twin : *part) copy_bytes(twin, *to++);
    to = state.optim.begin();
    for (auto& twin : kept->slots) copy_bytes(twin, *to++);
  };
}

void StateCopier::before_buffers_change() {
  if (side_) side_->buffers_read.block(c10::impl::VirtualGuardImpl(where_.type()).getStream(where_));
}

void StateCopier::before_change() {
  if (side_) side_->all_read.block(c10::impl::VirtualGuardImpl(where_.type()).getStream(where_));
  side_.reset();
}

void copy_in(const std::vector<StateTensor>& from, const nets::NamedTensors& to, const std::string& what) {
  const torch::NoGradGuard no_gradients;
  const char* hint = "resume with the configuration that the snapshot was made with";
  std::set<std::string> missing;
  std::vector<std::string> unexpected;
  for (auto& [name, tensor] : to) missing.insert(name);
  for (auto& stored : from)
    if (missing.erase(stored.name) == 0) unexpected.push_back(stored.name);
  if (!missing.empty() || !unexpected.empty())
    throw UserError(Exit::snapshot,
                    say("the snapshot's ", what, " is another one: it lacks ", list_of(missing), ", and has ",
                        list_of(unexpected), " that this run has not"),
                    hint);
  for (auto& stored : from) {
    at::Tensor own = to.at(stored.name);
    if (own.sizes() != at::IntArrayRef(stored.shape) || dtype_name(own.scalar_type()) != stored.dtype)
      throw UserError(Exit::snapshot, "'" + stored.name + "' of the snapshot's " + what + " has another shape or type",
                      hint);
    own.copy_(torch::from_blob(const_cast<std::byte*>(stored.bytes.data()), stored.shape, own.scalar_type()));
  }
}

}  // namespace flowtrain
