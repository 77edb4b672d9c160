#pragma once
// Numbers made from names: two programs get the same weights and pictures without sharing a random generator.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain::parity {

/// FNV-1a, 64 bits.
std::uint64_t name_hash(const std::string& name);

/// Number i = 0, 1 … of a name's hash: 24 bits (the top ones of SplitMix64).
std::uint32_t name_bits(std::uint64_t hash, std::uint64_t i);

/// f32 of `sizes`: shift + (2 u - 1) · scale with u = name_bits / 2^24, computed in double.
at::Tensor uniform_of(const std::string& name, const std::vector<std::int64_t>& sizes, double scale, double shift);

/// Sets an entry of a state_dict to values made from prefix + name, by its kind (weight, bias, running_mean …).
void fill_by_name(const std::string& prefix, const std::string& name, at::Tensor tensor);

}  // namespace flowtrain::parity
