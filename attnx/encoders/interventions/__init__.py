"""What can be changed in a model's attention while it runs, and the model as it was afterwards."""
