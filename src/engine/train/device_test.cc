#include "engine/train/device.h"

#include <c10/core/impl/FakeGuardImpl.h>
#include <gtest/gtest.h>

namespace assay::engine {
namespace {

using FakeGpu = c10::impl::FakeGuardImpl<c10::DeviceType::PrivateUse1>;
C10_REGISTER_GUARD_IMPL(PrivateUse1, FakeGpu);

TEST(UseDevice, MakesTheRanksOwnDeviceTheCurrentOne) {
  FakeGpu::setDeviceIndex(0);
  use_device(c10::Device(c10::DeviceType::PrivateUse1, 3));
  EXPECT_EQ(FakeGpu::getDeviceIndex(), 3);
}

TEST(UseDevice, TheCpuNeedsNothing) {
  use_device(c10::Device(c10::kCPU));
}

}  // namespace
}  // namespace assay::engine
