"""Child processes under supervision: whatever a kernel does to its process, its parent lives on and knows."""
