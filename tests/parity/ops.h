#pragma once
// The operations of flowtrain_parity: named tensors in, named tensors out, so that another program can compare each
// step of the CornerNet family with its own.

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include <iosfwd>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "nets/tensors.h"

namespace flowtrain::parity {

using nets::NamedTensors;
using nlohmann::json;

/// What was wrong with a call: an operation, argument or tensor.
class BadCall : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The arguments of an operation (--set). Each read marks its key, so that one that nothing reads is an error.
class Arguments {
 public:
  explicit Arguments(json values = json::object()) : values_(std::move(values)) {}

  /// The value of `key`, as T; a missing one, or one of another type, throws BadCall.
  template <class T>
  T get(const std::string& key) const {
    read_.insert(key);
    if (!values_.contains(key)) throw BadCall("missing argument: --set " + key + "=…");
    try {
      return values_.at(key).get<T>();
    } catch (const json::exception&) {
      throw BadCall("--set " + key + "=" + values_.at(key).dump() + ": not of the expected type");
    }
  }
  template <class T>
  T get(const std::string& key, T otherwise) const {
    read_.insert(key);
    return values_.contains(key) ? get<T>(key) : otherwise;
  }
  bool has(const std::string& key) const { return values_.contains(key); }
  /// Throws BadCall naming a key that was never read.
  void check_all_read() const {
    for (auto& [key, value] : values_.items())
      if (!read_.contains(key)) throw BadCall("unknown argument: --set " + key);
  }

 private:
  json values_;
  mutable std::set<std::string> read_;
};

/// The tensor `name`, checked: `sizes` with -1 where any will do; a scalar may come as [1]. Throws BadCall.
at::Tensor input(const NamedTensors& in, const std::string& name, at::ScalarType dtype,
                 const std::vector<std::int64_t>& sizes);

/// "cpu", "cuda" or "cuda:N", which is loaded, and computes the same every time and in full precision. Throws BadCall
/// for another name, UserError(usage) where there is no such GPU.
at::Device device_named(const std::string& name);
NamedTensors on_device(const NamedTensors& tensors, at::Device device);

/// One operation. Tensors come in on `device` and may be returned on any.
struct Call {
  const NamedTensors& in;
  const Arguments& set;
  at::Device device;
};
using Op = NamedTensors (*)(const Call& call);
using Ops = std::map<std::string, Op>;

/// The operations by name, one function for each part of the family; in the files of these names.
Ops net_ops();
Ops loss_ops();
Ops detection_ops();
Ops sampler_ops();

/// `names`: a line of JSON for each entry of the net's state_dict.
void print_names(const std::string& net, std::ostream& out);

/// `net`: a whole net.
struct NetCall {
  std::string net;      ///< CornerNet, CornerNet_Squeeze, CornerNet_Saccade
  std::string mode;     ///< eval, train
  std::string weights;  ///< safetensors file; empty: values made from names
};
NamedTensors run_net(const NetCall& net, const Call& call);

/// `sample`: a sampler with given draws, {"config": {…}, "draws": […]}.
NamedTensors run_sample(const std::string& sampler, const json& draws, const NamedTensors& in);

/// `radius`: a CSV of height, width, min_overlap to one with radius_double and radius_int.
void run_radius(std::istream& in, std::ostream& out);

}  // namespace flowtrain::parity
