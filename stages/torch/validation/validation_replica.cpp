#include "stages/torch/validation/validation_replica.h"

#include <ATen/Parallel.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <exception>
#include <optional>
#include <utility>

#include "sampling/core/error.h"
#include "stages/torch/named.h"
#include "stages/torch/parallel/torch_group.h"
#include "stages/torch/state_copy.h"
#include "stages/torch/step/learner_net.h"
#include "stages/torch/validation/net_text_model.h"
#include "stages/torch/validation/net_validator.h"
#include "stages/torch/validation/own_draws.h"

namespace flowtrain {

namespace {

at::Tensor detached(const at::Tensor& tensor) { return tensor.detach(); }

nets::NamedTensors joined(nets::NamedTensors model, const nets::NamedTensors& buffers) {
  append(model, buffers);
  return model;
}

// Compute writes the weights on its stream of a GPU, and the measuring thread works on another: each waits for the
// other there.
class DeviceStream {
 public:
  explicit DeviceStream(at::Device where)
      : driver_(where.type()),
        where_(where),
        own_(driver_.getStreamFromGlobalPool(where)),
        written_(where.type()),
        read_(where.type()) {}
  /// Waits, as compute's stream frees the memory that was read.
  ~DeviceStream() {
    try {
      wait_read();
    } catch (const std::exception&) {
      // A device that has failed reads nothing any more.
    }
  }

  /// Lets all that the compute thread enqueues from now on come after all that was measured. The compute thread calls
  /// it while nobody measures; a validation that ended by an error may still read the weights.
  void wait_read() {
    read_.record(own_);
    read_.block(driver_.getStream(where_));
  }
  /// Notes in the compute thread that the weights are on their way.
  void written() { written_.record(driver_.getStream(where_)); }
  /// Lets all that the measuring thread computes from now on come after that. Guards would make a context on the first
  /// device, as the thread has none yet.
  void enter() {
    driver_.setDevice(where_);
    driver_.exchangeStream(own_);
    written_.block(own_);
  }
  /// Returns the stream for code that is not LibTorch's.
  void* handle() const { return own_.native_handle(); }

 private:
  c10::impl::VirtualGuardImpl driver_;
  at::Device where_;
  c10::Stream own_;
  c10::Event written_, read_;
};

class TorchNetCopy final : public ValidationReplica, public RowValidator, public TextValidator {
 public:
  TorchNetCopy(const LearnerSpec& spec, const nets::NamedTensors& parameters, const nets::NamedTensors& buffers)
      : training_(*spec.process.group),
        beside_(training_.beside()),
        spec_(spec),
        seed_(validation_seed(spec)),
        draws_(at::Device(spec.process.device)),
        net_(make_learner_net(spec)),
        step_(make_training_step(spec, *net_)),
        validator_(spec, net_, *step_),
        model_(joined(net_->parameters(), net_->buffers())),
        own_(tensors_of(mapped(model_, detached))),
        source_(tensors_of(mapped(joined(parameters, buffers), detached))),
        source_buffers_(buffers) {
    if (own_.size() != source_.size()) throw InternalError("the copy of a net has other tensors than the net");
    net_->train(false);
    if (const at::Device where(spec.process.device); !where.is_cpu()) stream_.emplace(where);
  }

  void take() override {
    share_tensors(training_, "the sharing of running statistics", source_buffers_);
    const torch::NoGradGuard no_gradients;
    if (stream_) stream_->wait_read();
    at::_foreach_copy_(own_, source_, /*non_blocking=*/true);
    if (stream_) stream_->written();
  }

  void load(const std::vector<StateTensor>& model) override {
    if (stream_) stream_->wait_read();
    if (training_.leads()) copy_in(model, model_, "model");
    share_tensors(training_, "the sharing of a snapshot's weights", model_);
    if (stream_) stream_->written();
  }

  // The thread has compute's number of threads only if it asks for it; metrics may depend on that.
  void begin_validation() override {
    at::init_num_threads();
    if (stream_) stream_->enter();
    draws_.seed(seed_);
    const OwnDraws::Scope own(draws_);
    validator_.begin();
  }

  void validate(Slab& slab) override {
    if (stream_) slab.owner().compute_on(stream_->handle());
    const OwnDraws::Scope own(draws_);
    validator_.add(slab);
  }

  RowResults validate_rows(Slab& slab, std::span<const std::size_t> shown) override {
    if (stream_) slab.owner().compute_on(stream_->handle());
    const OwnDraws::Scope own(draws_);
    return validator_.add_rows(slab, shown);
  }

  Detector* detector() override { return validator_.detector(); }
  TextModel* text_model() override {
    if (!text_model_) text_model_ = make_text_model(spec_, net_, &draws_);
    return text_model_.get();
  }
  Scalars end_validation() override {
    const OwnDraws::Scope own(draws_);
    return validator_.end(beside_);
  }
  const ClassTable* confusion() const override { return validator_.confusion(); }
  Group& group() override { return beside_; }

 private:
  Group& training_;
  Group& beside_;
  const LearnerSpec spec_;
  const std::uint64_t seed_;
  OwnDraws draws_;
  std::shared_ptr<nets::Net> net_;
  std::unique_ptr<nets::Step> step_;
  NetValidator validator_;
  std::unique_ptr<NetTextModel> text_model_;  // made when it is first asked for; null: the net continues no texts
  nets::NamedTensors model_;
  std::vector<at::Tensor> own_, source_;  // in the same order
  nets::NamedTensors source_buffers_;
  std::optional<DeviceStream> stream_;
};

}  // namespace

std::unique_ptr<ValidationReplica> make_validation_replica(const LearnerSpec& spec,
                                                           const nets::NamedTensors& parameters,
                                                           const nets::NamedTensors& buffers) {
  return std::make_unique<TorchNetCopy>(spec, parameters, buffers);
}

}  // namespace flowtrain
