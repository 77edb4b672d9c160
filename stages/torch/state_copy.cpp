#include "stages/torch/state_copy.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cstring>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/torch/named.h"

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

// Copies the bytes as they lie, if they lie in one piece.
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

constexpr std::size_t twin_alignment = 64;

std::size_t rounded_up(std::size_t bytes) { return (bytes + twin_alignment - 1) / twin_alignment * twin_alignment; }

std::size_t twin_bytes(const nets::NamedTensors& tensors) {
  std::size_t bytes = 0;
  for (auto& [name, tensor] : tensors) bytes += rounded_up(tensor.nbytes());
  return bytes;
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

// Returns "3 tensors (a, b, c)"; only the first few of many.
std::string list_of(const auto& names) {
  constexpr std::size_t most = 10;
  const std::string count = concat(names.size(), names.size() == 1 ? " tensor" : " tensors");
  if (names.empty()) return count;
  return concat(count, " (", join(names | std::views::take(most)),
                names.size() > most ? concat(" and ", names.size() - most, " more") : "", ")");
}

}  // namespace

// Page-locked memory for all twins of a copy, in one piece: page-locking is slow, and LibTorch rounds each piece up to
// a power of two, which it then keeps.
class StateCopier::TwinMemory {
 public:
  explicit TwinMemory(std::size_t bytes)
      : all_(torch::empty({static_cast<std::int64_t>(bytes)}, torch::dtype(torch::kUInt8).pinned_memory(true))) {}

  std::size_t bytes() const { return all_.nbytes(); }

  // Makes twins side by side from `used` on, and advances it. They have the tensors' layout if those lie in one piece.
  Twins start_copies(const nets::NamedTensors& from, std::size_t& used) const {
    Twins twins;
    for (auto& [name, tensor] : from) {
      const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
      const at::Tensor piece = all_.narrow(0, static_cast<std::int64_t>(used), bytes).view(tensor.scalar_type());
      twins.push_back(tensor.is_non_overlapping_and_dense() ? piece.as_strided(tensor.sizes(), tensor.strides())
                                                            : piece.view(tensor.sizes()));
      twins.back().copy_(tensor.detach(), /*non_blocking=*/true);
      used += rounded_up(tensor.nbytes());
    }
    return twins;
  }

 private:
  at::Tensor all_;
};

// LearnerState keeps it until the bytes have arrived, and compute until it need not wait any more.
struct StateCopier::Side {
  Side(at::Device on, std::shared_ptr<const TwinMemory> twin_memory)
      : where(on),
        stream(c10::impl::VirtualGuardImpl(on.type()).getStreamFromGlobalPool(on)),
        before(on.type()),
        buffers_read(on.type()),
        all_read(on.type()),
        memory(std::move(twin_memory)) {}
  // A thread that has no device yet would make a context on the first one by freeing.
  ~Side() { c10::impl::VirtualGuardImpl(where.type()).uncheckedSetDevice(where); }

  const at::Device where;
  c10::Stream stream;
  c10::Event before, buffers_read, all_read;
  std::shared_ptr<const TwinMemory> memory;
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

  const std::size_t bytes = twin_bytes(buffers) + twin_bytes(parameters) + twin_bytes(slots);
  before_change();  // two copies on their way would share the memory
  // The memory of the last copy is reused, unless somebody still reads that.
  if (!memory_ || memory_.use_count() > 1 || memory_->bytes() != bytes) memory_ = std::make_shared<TwinMemory>(bytes);
  side_ = std::make_shared<Side>(where_, memory_);
  Side& side = *side_;
  std::size_t used = 0;
  side.before.record(c10::impl::VirtualGuardImpl(where_.type()).getStream(where_));
  side.before.block(side.stream);
  const c10::StreamGuard on_side(side.stream);
  side.buffers = memory_->start_copies(buffers, used);  // buffers come first: the next forward pass changes them
  side.buffers_read.record(side.stream);
  side.parameters = memory_->start_copies(parameters, used);
  side.slots = memory_->start_copies(slots, used);
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
  const char* hint =
      "resume with the configuration that the snapshot was made with; resume.rename gives its tensors other names, and "
      "resume.strict = false takes those that fit";
  std::set<std::string> missing;
  std::vector<std::string> unexpected;
  for (auto& [name, tensor] : to) missing.insert(name);
  for (auto& stored : from)
    if (missing.erase(stored.name) == 0) unexpected.push_back(stored.name);
  if (!missing.empty() || !unexpected.empty())
    throw UserError(ExitCode::snapshot,
                    concat("the snapshot's ", what, " does not fit: it lacks ", list_of(missing), ", and has ",
                           list_of(unexpected), " that this run does not have"),
                    hint);
  for (auto& stored : from) {
    at::Tensor own = to.at(stored.name);
    // The average of weights in half precision is f32.
    const bool rounds = stored.dtype == "F32" && c10::isReducedFloatingType(own.scalar_type());
    if (own.sizes() != at::IntArrayRef(stored.shape) || (!rounds && dtype_name(own.scalar_type()) != stored.dtype))
      throw UserError(ExitCode::snapshot,
                      "'" + stored.name + "' of the snapshot's " + what + " has another shape or type", hint);
    own.copy_(torch::from_blob(const_cast<std::byte*>(stored.bytes.data()), stored.shape,
                               rounds ? at::kFloat : own.scalar_type()));
  }
}

namespace {

// A device takes tensors of one type in few launches.
void copy_together(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
  const torch::NoGradGuard no_gradients;
  std::map<at::ScalarType, std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>>> parts;
  for (std::size_t i = 0; i < to.size(); ++i) {
    auto& [written, read] = parts[to[i].scalar_type()];
    written.push_back(to[i]);
    read.push_back(from[i]);
  }
  for (auto& [type, part] : parts) at::_foreach_copy_(part.first, part.second);
}

}  // namespace

void Weights::keep_buffers() {
  copier_.before_buffers_change();
  if (!keeps_) return;
  if (kept_.empty())
    for (auto& [name, buffer] : buffers_) kept_.push_back(at::empty_like(buffer));
  copy_together(kept_, tensors_of(buffers_));
}

void Weights::restore_buffers() {
  if (!kept_.empty()) copy_together(tensors_of(buffers_), kept_);
}

void Weights::load(const std::vector<StateTensor>& model) {
  nets::NamedTensors all = parameters_;
  append(all, buffers_);
  copier_.before_change();
  copy_in(model, all, "model");
}

}  // namespace flowtrain
