#include "storage/decorator/fault_store.h"

#include <fmt/format.h>

#include <functional>

namespace assay::storage {
namespace {

// What goes wrong with the operations that this thread is in; decided before, done in part after.
thread_local std::vector<std::pair<const FaultRule*, uint64_t>> decided;

// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

double Unit(uint64_t noise) {
  return static_cast<double>(noise >> 11) * 0x1p-53;
}

// FNV-1a: unlike std::hash the same in every program.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

void FlipBit(std::span<const ReadPiece> pieces, uint64_t noise) {
  uint64_t bits = 0;
  for (const ReadPiece& piece : pieces) {
    bits += piece.memory.size() * 8;
  }
  uint64_t at = bits == 0 ? 0 : noise % bits;
  for (const ReadPiece& piece : pieces) {
    if (at < piece.memory.size() * 8) {
      piece.memory[at / 8] ^= std::byte{1} << (at % 8);
      return;
    }
    at -= piece.memory.size() * 8;
  }
}

Status FaultStatus(const FaultRule& rule, const StoreOperation& operation) {
  return {rule.code, fmt::format("cannot {} {}: a fault was asked for ({})", operation.name, operation.key,
                                 rule.kind == FaultRule::Kind::kLoseAnswer ? "done, the answer is lost" : "not done")};
}

}  // namespace

int64_t FaultStore::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

FaultStore::Draw FaultStore::Decide(const StoreOperation& operation) {
  const std::lock_guard lock(mutex_);
  uint64_t noise = Mix(seed_ ^ HashOf(operation.name) ^ Mix(sequence_[std::string(operation.name)]++));
  for (const FaultRule& rule : rules_) {
    noise = Mix(noise);
    const bool meant = rule.operation.empty() || rule.operation == operation.name;
    const bool can_hit = rule.kind != FaultRule::Kind::kFlipBit || operation.reads;
    if (meant && can_hit && Unit(noise) < rule.rate) {
      ++faults_;
      return {&rule, Mix(noise)};
    }
  }
  return {};
}

Status FaultStore::Before(const StoreOperation& operation) {
  const Draw draw = Decide(operation);
  decided.emplace_back(draw.rule, draw.noise);
  const bool refuse = draw.rule != nullptr && draw.rule->kind == FaultRule::Kind::kRefuse;
  return refuse ? FaultStatus(*draw.rule, operation) : Status::Ok();
}

Status FaultStore::After(const StoreOperation& operation, Status status) {
  const auto [rule, noise] = decided.back();
  decided.pop_back();
  if (rule == nullptr || !status.ok()) {
    return status;
  }
  if (rule->kind == FaultRule::Kind::kFlipBit) {
    FlipBit(operation.pieces, noise);
    return status;
  }
  return FaultStatus(*rule, operation);
}

}  // namespace assay::storage
