#include "engine/train/causal_lm_forecast.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/files.h"
#include "data/token_file.h"
#include "engine/model/status_error.h"
#include "engine/train/batch.h"

namespace assay::engine {
namespace {

constexpr char kConfig[] = R"({"model_type": "llama", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": false})";

class CausalLmForecastTest : public ::testing::Test {
 protected:
  CausalLmForecastTest() {
    throw_if_error(WriteFileAtomically(folder_.path() + "/config.json", kConfig));
    plan_.model_dir = folder_.path();
    plan_.dtype = "float32";
    plan_.method = "full";
    plan_.save = "none";
    plan_.plugin = "hybrid_parallel";
    plan_.batch_size = 4;
  }

  /// In the steps of `ranks`, of which `local_ranks` share a machine.
  MemoryPhase steady(int64_t ranks, int64_t stages, int64_t local_ranks) {
    plan_.number_ranks = ranks;
    plan_.knobs = {};
    plan_.knobs.pp_size = stages;
    const std::vector<int32_t> ids(32, 7);
    const std::vector<data::TokenRowView> rows = {{ids, ids, 0}};
    CausalLmForecaster forecaster(plan_, pack_rows(rows, {.vocab_size = 512}), {.local_ranks = local_ranks});
    return forecaster.with_checkpointed(0).phases.at(1);
  }

  TemporaryDirectory folder_ = value_or_throw(TemporaryDirectory::Create("causal-lm-forecast"));
  job::TunePlan plan_;
};

TEST_F(CausalLmForecastTest, AMachineIsChargedWithTheStagesThatItHas) {
  const MemoryPhase one = steady(6, 2, 1);
  EXPECT_EQ(one.tensor_bytes, one.ledger.peak_bytes - one.mapped_bytes);
  // Three of six ranks have one stage twice and the other once.
  const MemoryPhase three = steady(6, 2, 3);
  const int64_t of_rank = three.ledger.peak_bytes - three.mapped_bytes;
  EXPECT_GT(three.tensor_bytes, 2 * of_rank);
  EXPECT_LT(three.tensor_bytes, 3 * of_rank);
}

}  // namespace
}  // namespace assay::engine
