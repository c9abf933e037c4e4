// Device memory in thrust's words. On the host a program may read it, once what was launched before is done.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <hip/hip_runtime.h>

namespace thrust {
namespace bitgate {

// In a kernel there is nothing to wait for.
inline void wait() {
  if (!bitgate_host::self)
    (void)hipDeviceSynchronize();
}
inline void wait(hipStream_t stream) {
  if (!bitgate_host::self)
    (void)hipStreamSynchronize(stream);
}

template <class T> struct DeviceAllocator {
  using value_type = T;
  DeviceAllocator() = default;
  template <class U> DeviceAllocator(const DeviceAllocator<U>&) {}
  T* allocate(size_t count) {
    void* memory = nullptr;
    if (hipMalloc(&memory, count * sizeof(T)) != hipSuccess)
      throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { (void)hipFree(memory); }
  friend bool operator==(const DeviceAllocator&, const DeviceAllocator&) { return true; }
  friend bool operator!=(const DeviceAllocator&, const DeviceAllocator&) { return false; }
};

} // namespace bitgate

template <class T> class device_ptr {
public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_cv_t<T>;
  using difference_type = ptrdiff_t;
  using pointer = T*;
  using reference = std::add_lvalue_reference_t<T>;
  using element_type = T;

  device_ptr(std::nullptr_t = nullptr) {}
  explicit device_ptr(T* raw) : at(raw) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  device_ptr(const device_ptr<U>& other) : at(other.get()) {}

  T* get() const { return at; }
  reference operator*() const {
    bitgate::wait();
    return *at;
  }
  T* operator->() const { return at; }
  reference operator[](ptrdiff_t index) const { return *(*this + index); }
  explicit operator bool() const { return at != nullptr; }
  device_ptr& operator++() { return ++at, *this; }
  device_ptr& operator--() { return --at, *this; }
  device_ptr operator++(int) { return device_ptr(at++); }
  device_ptr operator--(int) { return device_ptr(at--); }
  device_ptr& operator+=(ptrdiff_t by) { return at += by, *this; }
  device_ptr& operator-=(ptrdiff_t by) { return at -= by, *this; }
  friend device_ptr operator+(device_ptr from, ptrdiff_t by) { return device_ptr(from.at + by); }
  friend device_ptr operator+(ptrdiff_t by, device_ptr from) { return device_ptr(from.at + by); }
  friend device_ptr operator-(device_ptr from, ptrdiff_t by) { return device_ptr(from.at - by); }
  friend ptrdiff_t operator-(device_ptr a, device_ptr b) { return a.at - b.at; }
  friend bool operator==(device_ptr a, device_ptr b) { return a.at == b.at; }
  friend bool operator!=(device_ptr a, device_ptr b) { return a.at != b.at; }
  friend bool operator<(device_ptr a, device_ptr b) { return a.at < b.at; }
  friend bool operator>(device_ptr a, device_ptr b) { return b.at < a.at; }
  friend bool operator<=(device_ptr a, device_ptr b) { return !(b.at < a.at); }
  friend bool operator>=(device_ptr a, device_ptr b) { return !(a.at < b.at); }

private:
  T* at = nullptr;
};
template <class T> using device_reference = T&;

template <class T> device_ptr<T> device_pointer_cast(T* raw) {
  return device_ptr<T>(raw);
}
template <class T> T* raw_pointer_cast(const device_ptr<T>& pointer) {
  return pointer.get();
}
template <class T> T* raw_pointer_cast(T* pointer) {
  return pointer;
}
template <class T> T& raw_reference_cast(T& reference) {
  return reference;
}
template <class T> device_ptr<T> device_malloc(size_t count) {
  return device_ptr<T>(bitgate::DeviceAllocator<T>().allocate(count));
}
template <class T> void device_free(device_ptr<T> pointer) {
  (void)hipFree(const_cast<void*>(static_cast<const void*>(pointer.get())));
}

// std::vector with the iterators of its memory.
template <class T, class Allocator, class Iterator, class ConstIterator> class vector_base {
  using Storage = std::vector<T, Allocator>;
  static_assert(!std::is_same_v<T, bool>, "write char instead: std::vector packs bool");

public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = Iterator;
  using const_iterator = ConstIterator;
  using pointer = Iterator;
  using reverse_iterator = std::reverse_iterator<Iterator>;

  vector_base() = default;
  explicit vector_base(size_t count) : of(count) {}
  vector_base(size_t count, const T& value) : of(count, value) {}
  vector_base(std::initializer_list<T> values) : of(values) {}
  template <class In, class = typename std::iterator_traits<In>::iterator_category>
  vector_base(In first, In last) {
    assign(first, last);
  }
  template <class A, class I, class C, class U>
  vector_base(const vector_base<U, A, I, C>& other) : vector_base(other.begin(), other.end()) {}
  template <class U> vector_base(const std::vector<U>& other) : vector_base(other.begin(), other.end()) {}
  vector_base(const vector_base& other) : of((bitgate::wait(), other.of)) {}
  vector_base(vector_base&&) = default;
  vector_base& operator=(const vector_base& other) {
    bitgate::wait();
    of = other.of;
    return *this;
  }
  vector_base& operator=(vector_base&&) = default;
  template <class A, class I, class C, class U> vector_base& operator=(const vector_base<U, A, I, C>& other) {
    assign(other.begin(), other.end());
    return *this;
  }
  template <class U> vector_base& operator=(const std::vector<U>& other) {
    assign(other.begin(), other.end());
    return *this;
  }

  template <class In, class = typename std::iterator_traits<In>::iterator_category>
  void assign(In first, In last) {
    bitgate::wait();
    of.assign(first, last);
  }
  void assign(size_t count, const T& value) { bitgate::wait(), of.assign(count, value); }
  iterator begin() { return iterator(of.data()); }
  iterator end() { return iterator(of.data() + of.size()); }
  const_iterator begin() const { return const_iterator(of.data()); }
  const_iterator end() const { return const_iterator(of.data() + of.size()); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  iterator data() { return begin(); }
  const_iterator data() const { return begin(); }
  size_t size() const { return of.size(); }
  size_t capacity() const { return of.capacity(); }
  bool empty() const { return of.empty(); }
  T& operator[](size_t index) { return bitgate::wait(), of[index]; }
  const T& operator[](size_t index) const { return bitgate::wait(), of[index]; }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return (*this)[size() - 1]; }
  void resize(size_t count) { bitgate::wait(), of.resize(count); }
  void resize(size_t count, const T& value) { bitgate::wait(), of.resize(count, value); }
  void reserve(size_t count) { bitgate::wait(), of.reserve(count); }
  void shrink_to_fit() { bitgate::wait(), of.shrink_to_fit(); }
  void clear() { of.clear(); }
  void push_back(const T& value) { bitgate::wait(), of.push_back(value); }
  void pop_back() { of.pop_back(); }
  iterator erase(iterator at) { return erase(at, at + 1); }
  iterator erase(iterator first, iterator last) {
    bitgate::wait();
    const auto from = of.begin() + (first - begin());
    return begin() + (of.erase(from, from + (last - first)) - of.begin());
  }
  iterator insert(iterator at, const T& value) {
    bitgate::wait();
    return begin() + (of.insert(of.begin() + (at - begin()), value) - of.begin());
  }
  template <class In> void insert(iterator at, In first, In last) {
    bitgate::wait();
    of.insert(of.begin() + (at - begin()), first, last);
  }
  void swap(vector_base& other) { of.swap(other.of); }
  friend void swap(vector_base& a, vector_base& b) { a.swap(b); }
  friend bool operator==(const vector_base& a, const vector_base& b) { return bitgate::wait(), a.of == b.of; }
  friend bool operator!=(const vector_base& a, const vector_base& b) { return !(a == b); }

private:
  Storage of;
};
template <class T, class = void>
using device_vector = vector_base<T, bitgate::DeviceAllocator<T>, device_ptr<T>, device_ptr<const T>>;
template <class T, class = void> using host_vector = vector_base<T, std::allocator<T>, T*, const T*>;
template <class T> using universal_vector = device_vector<T>;
template <class T, class U, class... Rest>
bool operator==(const vector_base<T, bitgate::DeviceAllocator<T>, device_ptr<T>, device_ptr<const T>>& a,
                const vector_base<U, std::allocator<U>, U*, const U*>& b) {
  return a.size() == b.size() && (bitgate::wait(), std::equal(b.begin(), b.end(), a.data().get()));
}
template <class T, class U>
bool operator==(const vector_base<U, std::allocator<U>, U*, const U*>& a,
                const vector_base<T, bitgate::DeviceAllocator<T>, device_ptr<T>, device_ptr<const T>>& b) {
  return b == a;
}

// Where an algorithm runs: here always the host; `on` names the stream whose work it follows.
struct execution_policy {
  hipStream_t stream = nullptr;
  bool isForStream = false;
  execution_policy on(hipStream_t of) const { return {of, true}; }
  template <class Allocator> execution_policy operator()(Allocator&&) const { return *this; }
  void wait() const { isForStream ? bitgate::wait(stream) : bitgate::wait(); }
};
inline constexpr execution_policy device{}, host{}, seq{};
namespace hip {
inline constexpr execution_policy par{}, par_nosync{};
}
namespace hip_rocprim = hip;
namespace cuda = hip;
namespace cuda_cub = hip;

} // namespace thrust
