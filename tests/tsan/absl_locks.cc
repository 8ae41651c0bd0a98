// Tells ThreadSanitizer about Abseil's locks.
//
// Debian's Abseil is a shared library that was not built with
// ThreadSanitizer, so what its Mutex, CondVar and Notification order is
// invisible, and everything that they guard would be reported as a race. In a
// ThreadSanitizer build the linker (`--wrap`, set up by
// cmake/sanitizers.cmake, which finds the symbols in this file) sends every
// call of ours to a function here, which makes the call and says what it
// orders: a release before letting go, an acquire after getting hold.
//
// Conditions that wait in Mutex::Await are evaluated by whoever unlocks, with
// the lock held but inside Abseil, where no order is visible: reads made
// there are not looked at.
//
// Limitations: a new kind of call (say Mutex::LockWhenWithTimeout) has to be
// added here, or it shows as false reports at its call sites. HasBeenNotified
// is inline and orders nothing here.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace hourglass {
namespace {

// Reads of conditions, made by Abseil while this lives, are not looked at.
class InsideAbseil {
 public:
  InsideAbseil() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~InsideAbseil() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
  InsideAbseil(const InsideAbseil&) = delete;
  InsideAbseil& operator=(const InsideAbseil&) = delete;
};

// ThreadSanitizer takes any address as the name of an order.
void* NameOf(const void* object) { return const_cast<void*>(object); }
void Acquire(const void* object) { __tsan_acquire(NameOf(object)); }
void Release(const void* object) { __tsan_release(NameOf(object)); }

}  // namespace

// Each pair: the function that callers reach instead, and the real one.

void RealMutexLock(absl::Mutex* mu) __asm__(
    "__real__ZN4absl7debian35Mutex4LockEv");
void WrapMutexLock(absl::Mutex* mu) __asm__(
    "__wrap__ZN4absl7debian35Mutex4LockEv");
void WrapMutexLock(absl::Mutex* mu) {
  {
    InsideAbseil inside;
    RealMutexLock(mu);
  }
  Acquire(mu);
}

void RealMutexUnlock(absl::Mutex* mu) __asm__(
    "__real__ZN4absl7debian35Mutex6UnlockEv");
void WrapMutexUnlock(absl::Mutex* mu) __asm__(
    "__wrap__ZN4absl7debian35Mutex6UnlockEv");
void WrapMutexUnlock(absl::Mutex* mu) {
  Release(mu);
  InsideAbseil inside;
  RealMutexUnlock(mu);
}

bool RealMutexTryLock(absl::Mutex* mu) __asm__(
    "__real__ZN4absl7debian35Mutex7TryLockEv");
bool WrapMutexTryLock(absl::Mutex* mu) __asm__(
    "__wrap__ZN4absl7debian35Mutex7TryLockEv");
bool WrapMutexTryLock(absl::Mutex* mu) {
  const bool locked = RealMutexTryLock(mu);
  if (locked) Acquire(mu);
  return locked;
}

void RealMutexReaderLock(absl::Mutex* mu) __asm__(
    "__real__ZN4absl7debian35Mutex10ReaderLockEv");
void WrapMutexReaderLock(absl::Mutex* mu) __asm__(
    "__wrap__ZN4absl7debian35Mutex10ReaderLockEv");
void WrapMutexReaderLock(absl::Mutex* mu) {
  {
    InsideAbseil inside;
    RealMutexReaderLock(mu);
  }
  Acquire(mu);
}

void RealMutexReaderUnlock(absl::Mutex* mu) __asm__(
    "__real__ZN4absl7debian35Mutex12ReaderUnlockEv");
void WrapMutexReaderUnlock(absl::Mutex* mu) __asm__(
    "__wrap__ZN4absl7debian35Mutex12ReaderUnlockEv");
void WrapMutexReaderUnlock(absl::Mutex* mu) {
  Release(mu);
  InsideAbseil inside;
  RealMutexReaderUnlock(mu);
}

void RealMutexLockWhen(absl::Mutex* mu, const absl::Condition& until) __asm__(
    "__real__ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE");
void WrapMutexLockWhen(absl::Mutex* mu, const absl::Condition& until) __asm__(
    "__wrap__ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE");
void WrapMutexLockWhen(absl::Mutex* mu, const absl::Condition& until) {
  {
    InsideAbseil inside;
    RealMutexLockWhen(mu, until);
  }
  Acquire(mu);
}

void RealMutexAwait(absl::Mutex* mu, const absl::Condition& until) __asm__(
    "__real__ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE");
void WrapMutexAwait(absl::Mutex* mu, const absl::Condition& until) __asm__(
    "__wrap__ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE");
void WrapMutexAwait(absl::Mutex* mu, const absl::Condition& until) {
  Release(mu);
  {
    InsideAbseil inside;
    RealMutexAwait(mu, until);
  }
  Acquire(mu);
}

bool RealMutexAwaitWithTimeout(absl::Mutex* mu, const absl::Condition& until, absl::Duration timeout) __asm__(
    "__real__ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_"
    "8DurationE");
bool WrapMutexAwaitWithTimeout(absl::Mutex* mu, const absl::Condition& until, absl::Duration timeout) __asm__(
    "__wrap__ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_"
    "8DurationE");
bool WrapMutexAwaitWithTimeout(absl::Mutex* mu, const absl::Condition& until,
                               absl::Duration timeout) {
  Release(mu);
  bool result = false;
  {
    InsideAbseil inside;
    result = RealMutexAwaitWithTimeout(mu, until, timeout);
  }
  Acquire(mu);
  return result;
}

bool RealMutexAwaitWithDeadline(absl::Mutex* mu, const absl::Condition& until, absl::Time deadline) __asm__(
    "__real__ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_"
    "4TimeE");
bool WrapMutexAwaitWithDeadline(absl::Mutex* mu, const absl::Condition& until, absl::Time deadline) __asm__(
    "__wrap__ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_"
    "4TimeE");
bool WrapMutexAwaitWithDeadline(absl::Mutex* mu, const absl::Condition& until,
                                absl::Time deadline) {
  Release(mu);
  bool result = false;
  {
    InsideAbseil inside;
    result = RealMutexAwaitWithDeadline(mu, until, deadline);
  }
  Acquire(mu);
  return result;
}

void RealCondVarWait(absl::CondVar* cv, absl::Mutex* mu) __asm__(
    "__real__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
void WrapCondVarWait(absl::CondVar* cv, absl::Mutex* mu) __asm__(
    "__wrap__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
void WrapCondVarWait(absl::CondVar* cv, absl::Mutex* mu) {
  Release(mu);
  {
    InsideAbseil inside;
    RealCondVarWait(cv, mu);
  }
  Acquire(mu);
}

bool RealCondVarWaitWithTimeout(absl::CondVar* cv, absl::Mutex* mu, absl::Duration timeout) __asm__(
    "__real__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_"
    "8DurationE");
bool WrapCondVarWaitWithTimeout(absl::CondVar* cv, absl::Mutex* mu, absl::Duration timeout) __asm__(
    "__wrap__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_"
    "8DurationE");
bool WrapCondVarWaitWithTimeout(absl::CondVar* cv, absl::Mutex* mu,
                                absl::Duration timeout) {
  Release(mu);
  bool result = false;
  {
    InsideAbseil inside;
    result = RealCondVarWaitWithTimeout(cv, mu, timeout);
  }
  Acquire(mu);
  return result;
}

bool RealCondVarWaitWithDeadline(absl::CondVar* cv, absl::Mutex* mu, absl::Time deadline) __asm__(
    "__real__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
bool WrapCondVarWaitWithDeadline(absl::CondVar* cv, absl::Mutex* mu, absl::Time deadline) __asm__(
    "__wrap__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
bool WrapCondVarWaitWithDeadline(absl::CondVar* cv, absl::Mutex* mu,
                                 absl::Time deadline) {
  Release(mu);
  bool result = false;
  {
    InsideAbseil inside;
    result = RealCondVarWaitWithDeadline(cv, mu, deadline);
  }
  Acquire(mu);
  return result;
}

void RealNotificationNotify(absl::Notification* note) __asm__(
    "__real__ZN4absl7debian312Notification6NotifyEv");
void WrapNotificationNotify(absl::Notification* note) __asm__(
    "__wrap__ZN4absl7debian312Notification6NotifyEv");
void WrapNotificationNotify(absl::Notification* note) {
  Release(note);
  InsideAbseil inside;
  RealNotificationNotify(note);
}

void RealNotificationWait(const absl::Notification* note) __asm__(
    "__real__ZNK4absl7debian312Notification19WaitForNotificationEv");
void WrapNotificationWait(const absl::Notification* note) __asm__(
    "__wrap__ZNK4absl7debian312Notification19WaitForNotificationEv");
void WrapNotificationWait(const absl::Notification* note) {
  {
    InsideAbseil inside;
    RealNotificationWait(note);
  }
  Acquire(note);
}

bool RealNotificationWaitWithTimeout(const absl::Notification* note, absl::Duration timeout) __asm__(
    "__real__"
    "ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_"
    "8DurationE");
bool WrapNotificationWaitWithTimeout(const absl::Notification* note, absl::Duration timeout) __asm__(
    "__wrap__"
    "ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_"
    "8DurationE");
bool WrapNotificationWaitWithTimeout(const absl::Notification* note,
                                     absl::Duration timeout) {
  const bool notified = RealNotificationWaitWithTimeout(note, timeout);
  if (notified) Acquire(note);
  return notified;
}

}  // namespace hourglass
