#include "stages/torch/parallel/torch_group.h"

#include <torch/types.h>
#include <torch/utils.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include <algorithm>
#include <cstring>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/torch/named.h"

namespace flowtrain {

namespace {

constexpr std::size_t broadcast_piece_bytes = 64u << 20;

at::Tensor as_tensor(const std::string& bytes, std::int64_t size) {
  at::Tensor tensor = torch::zeros({size}, torch::kUInt8);
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

std::string as_bytes(const at::Tensor& tensor, std::int64_t size) {
  return {static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::size_t>(size)};
}

}  // namespace

void throw_lost(const char* what, const std::exception& error) {
  throw UserError(ExitCode::distributed,
                  concat("lost the other processes during ", what, ": ", first_line(error.what())));
}

void TorchGroup::add_up(std::span<double> values) {
  std::vector<at::Tensor> tensors{
      torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, torch::kFloat64)};
  processes_->allreduce(tensors)->wait();
}

void TorchGroup::share(const std::vector<at::Tensor>& tensors) {
  if (!tensors.empty()) c10d::broadcast_coalesced(processes_, tensors, broadcast_piece_bytes);
}

void TorchGroup::sum(const char* what, std::span<double> values) {
  in_collective(*this, what, [&] { add_up(values); });
}

void TorchGroup::sum(const char* what, at::Tensor& values) {
  in_collective(*this, what, [&] {
    std::vector<at::Tensor> tensors{values};
    processes_->allreduce(tensors)->wait();
  });
}

std::vector<std::string> TorchGroup::gather(const char* what, const std::string& mine) {
  return in_collective(*this, what, [&] {
    std::vector<double> sizes(static_cast<std::size_t>(size()), 0);
    sizes[static_cast<std::size_t>(rank())] = static_cast<double>(mine.size());
    add_up(sizes);
    const auto most = static_cast<std::int64_t>(*std::max_element(sizes.begin(), sizes.end()));
    std::vector<at::Tensor> in{as_tensor(mine, most)};
    std::vector<std::vector<at::Tensor>> out(1);
    for (int i = 0; i < size(); ++i) out[0].push_back(torch::zeros({most}, torch::kUInt8));
    if (most > 0) processes_->allgather(out, in)->wait();
    std::vector<std::string> all;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      all.push_back(as_bytes(out[0][i], static_cast<std::int64_t>(sizes[i])));
    return all;
  });
}

std::string TorchGroup::broadcast(const char* what, const std::string& mine) {
  return in_collective(*this, what, [&] {
    double size = leads() ? static_cast<double>(mine.size()) : 0;
    add_up({&size, 1});
    const at::Tensor tensor = as_tensor(leads() ? mine : "", static_cast<std::int64_t>(size));
    share(std::vector{tensor});
    return as_bytes(tensor, static_cast<std::int64_t>(size));
  });
}

void TorchGroup::broadcast(const char* what, const std::vector<at::Tensor>& tensors) {
  in_collective(*this, what, [&] { share(tensors); });
}

// The group has a connection of its own to the store: each connection answers one caller at a time, and ranks that
// connect wait there. It has a log of its own, since heartbeats compare the collectives of training by number. c10d
// records a group's first collective in memory that other threads read without a lock (FlightRecorder::all_pg_status_),
// so that one is made before there are other threads.
Group& TorchGroup::beside() {
  in_collective(*this, "the making of a group beside this one", [&] {
    const auto store =
        c10::make_intrusive<c10d::PrefixStore>(concat("beside/", beside_.size()), processes_->getStore()->clone());
    beside_.push_back(std::make_unique<TorchGroup>(make_gloo_group(store, rank(), size(), options_),
                                                   std::make_shared<CollectiveLog>(), options_));
    double nothing = 0;
    beside_.back()->add_up({&nothing, 1});
  });
  return *beside_.back();
}

c10::intrusive_ptr<c10d::ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                       const MakeGlooOptions& options) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO,
                    c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options()));
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  return group;
}

void share_tensors(Group& group, const char* what, const nets::NamedTensors& tensors) {
  auto* processes = group.size() > 1 ? dynamic_cast<TorchGroup*>(&group) : nullptr;
  if (!processes) return;
  const torch::NoGradGuard no_gradients;
  processes->broadcast(what, tensors_of(tensors));
}

}  // namespace flowtrain
