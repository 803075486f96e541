#include "engine/train/image_batches.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using ::testing::HasSubstr;

ImageModelConfig config_of(int64_t size, int64_t labels) {
  ImageModelConfig config;
  config.image_size = size;
  config.num_channels = 3;
  config.num_labels = labels;
  return config;
}

class ImageBatchesTest : public ::testing::Test {
 protected:
  std::string write_images(int64_t images) const;

 private:
  TemporaryDirectory folder_ = *TemporaryDirectory::Create("image-batches");
};

/// Image i is all bytes i, of class i % 2.
std::string ImageBatchesTest::write_images(int64_t images) const {
  const std::string path = folder_.path() + "/some.images";
  auto writer = data::ImageFileWriter::Create(path, 4, 4, {"even", "odd"});
  for (int64_t i = 0; i < images; ++i) {
    const std::vector<uint8_t> planes(3 * 4 * 4, static_cast<uint8_t>(i));
    EXPECT_TRUE(writer.value().Append(planes, static_cast<int32_t>(i % 2)).ok());
  }
  EXPECT_TRUE(writer.value().Finish().ok());
  return path;
}

job::VitPlan plan_of(const std::string& path) {
  job::VitPlan plan;
  plan.train_file = path;
  plan.batch_size = 2;
  plan.image_mean = {0.5, 0.25, 0.0};
  plan.image_std = {0.5, 0.5, 1.0};
  return plan;
}

/// The index of every image of a batch, by its third channel.
std::vector<int64_t> indices_of(const ImageBatch& batch) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < batch.pixels_BCHW.size(0); ++i) {
    indices.push_back(std::llround(batch.pixels_BCHW[i][2][0][0].item<double>() * 255));
  }
  return indices;
}

TEST_F(ImageBatchesTest, NormalisesByChannel) {
  job::VitPlan plan = plan_of(write_images(5));
  plan.shuffle = false;
  ImageBatches batches(plan, config_of(4, 2), 0, 1);
  const ImageBatch batch = batches.micro_batch(2, 0);
  EXPECT_FLOAT_EQ(batch.pixels_BCHW[1][0][3][3].item<float>(), static_cast<float>((3 / 255.0 - 0.5) / 0.5));
  EXPECT_FLOAT_EQ(batch.pixels_BCHW[1][1][0][0].item<float>(), static_cast<float>((3 / 255.0 - 0.25) / 0.5));
  EXPECT_EQ(batch.labels_B[1].item<int64_t>(), 1);
}

TEST_F(ImageBatchesTest, EpochsAreSplitOverRanksWithoutOverlapAndDropThePartialBatch) {
  const job::VitPlan plan = plan_of(write_images(11));
  ImageBatches first(plan, config_of(4, 2), 0, 2);
  ImageBatches second(plan, config_of(4, 2), 1, 2);
  ASSERT_EQ(first.steps_per_epoch(), 2);
  std::vector<std::set<int64_t>> epochs(2);
  for (int64_t step = 1; step <= 4; ++step) {
    for (ImageBatches* rank : {&first, &second}) {
      for (const int64_t index : indices_of(rank->micro_batch(step, 0))) {
        EXPECT_TRUE(epochs[static_cast<size_t>((step - 1) / 2)].insert(index).second) << "image twice in an epoch";
      }
    }
  }
  EXPECT_EQ(epochs[0].size(), 8U);
  EXPECT_EQ(epochs[1].size(), 8U);
}

TEST_F(ImageBatchesTest, MicroBatchesAndRanksCutTheSameGlobalBatch) {
  for (const bool synthetic : {false, true}) {
    job::VitPlan whole = plan_of(write_images(16));
    whole.synthetic = synthetic;
    whole.batch_size = 8;
    ImageBatches together(whole, config_of(4, 16), 0, 1);
    job::VitPlan cut = whole;
    cut.batch_size = 4;
    cut.gradient_accumulation_steps = 2;
    const at::Tensor want = together.micro_batch(2, 0).pixels_BCHW;
    std::vector<at::Tensor> parts;
    for (const int64_t rank : {0, 1}) {
      ImageBatches of_rank(cut, config_of(4, 16), rank, 2);
      parts.push_back(of_rank.micro_batch(2, 0).pixels_BCHW);
      parts.push_back(of_rank.micro_batch(2, 1).pixels_BCHW);
    }
    EXPECT_TRUE(at::cat(parts).equal(want)) << (synthetic ? "drawn" : "read");
  }
}

TEST_F(ImageBatchesTest, NamesWhatDoesNotSuit) {
  const std::string path = write_images(3);
  const auto message_of = [&](const job::VitPlan& plan, const ImageModelConfig& config) -> std::string {
    try {
      const ImageBatches batches(plan, config, 0, 2);
    } catch (const StatusError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message_of(plan_of(path), config_of(8, 2)), HasSubstr("its images are 4 x 4"));
  EXPECT_THAT(message_of(plan_of(path), config_of(4, 1)), HasSubstr("it has 2 classes, the model's head 1"));
  EXPECT_THAT(message_of(plan_of(path), config_of(4, 2)),
              HasSubstr("the 3 images to train on do not fill one batch of 2 on 2"));
}

}  // namespace
}  // namespace assay::engine
